"""Client methods for a project's alert rules, webhooks, reward presets, environment and dependency graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .resource import APIResource, Items, Json


class Setup(APIResource):
    def delete(self, path: str) -> Json:
        return dict(self.studio.request("DELETE", self.path + path))

    def alert_rules(self) -> list[Json]:
        return list(self.get("/alerts/rules"))

    def make_alert_rule(self, name: str, metric: str, comparison: str, threshold: float, **rest: Any) -> Json:
        """Create an alert rule: `make_alert_rule("Low", "points.reward", "below", 0.2, aggregate="mean", over=5)`."""
        told = {"name": name, "metric": metric, "comparison": comparison, "threshold": threshold}
        return self.post("/alerts/rules", told | rest)

    def add_ready_made_rules(self, *presets: str) -> list[Json]:
        """Add preset rules of the site. Return those that are new."""
        body = {"presets": list(presets)}
        return list(self.studio.request("POST", f"{self.path}/alerts/rules/ready-made", body))

    def change_alert_rule(self, rule: int, **fields: Any) -> Json:
        return self.post(f"/alerts/rules/{rule}/change", fields)

    def switch_alert_rule(self, rule: int, enabled: bool) -> Json:
        return self.post(f"/alerts/rules/{rule}/switch", {"enabled": enabled})

    def remove_alert_rule(self, rule: int) -> Json:
        return self.delete(f"/alerts/rules/{rule}")

    def webhooks(self) -> Items:
        return self.all("/alerts/webhooks")

    def make_webhook(self, name: str, url: str, format: str = "json") -> Json:
        """Create a webhook. Return {"webhook", "secret"}; the secret, which signs deliveries, is shown only now."""
        return self.post("/alerts/webhooks", {"name": name, "url": url, "format": format})

    def test_webhook(self, hook: int) -> Json:
        return self.post(f"/alerts/webhooks/{hook}/test")

    def deliveries(self, hook: int) -> Items:
        return self.all(f"/alerts/webhooks/{hook}/deliveries")

    def remove_webhook(self, hook: int) -> Json:
        return self.delete(f"/alerts/webhooks/{hook}")

    def rewards(self) -> Items:
        return self.all("/rewards")

    def save_reward(self, name: str, config: Mapping[str, Any]) -> Json:
        """Save the weights that differ from the paper's; launch a run with its key: `reward_preset=made["key"]`."""
        return self.post("/rewards", {"name": name, "config": dict(config)})

    def remove_reward(self, reward: int) -> Json:
        return self.delete(f"/rewards/{reward}")

    def environment(self) -> Json:
        return dict(self.get("/environment"))

    def set_environment(self, **fields: Any) -> Json:
        """Set the enabled `servers`, and `seed` and `size` of the first world; omitted fields do not change."""
        return self.put("/environment", fields)

    def check_servers(self, servers: Sequence[str] | None = None) -> list[Json]:
        body = {} if servers is None else {"servers": list(servers)}
        return list(self.studio.request("POST", f"{self.path}/environment/checks", body))

    def graph(self) -> Json:
        return dict(self.get("/graph"))

    def prove_graph(self) -> Json:
        """Rebuild the dependency graph. Return the job that does it."""
        return self.post("/graph/prove")
