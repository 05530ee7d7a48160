"""Server process in tau2's own interpreter: its tasks, orchestrator and evaluator over JSON lines."""

import gc
import hashlib
import importlib
import importlib.metadata
from functools import cache
from pathlib import Path
from typing import Any

from ...confined.confine import confine
from ...confined.rpc_server import Doing, Parent
from .arithmetic import evaluate_expression
from .litellm_stub import ConversationEnded, Speech, replace_litellm

Json = Any
DOMAINS = ("airline", "retail", "telecom")
CALCULATORS = ("tau2.environment.toolkit", "tau2.domains.airline.tools", "tau2.domains.retail.tools")
MANY = 500_000  # allocations between two garbage collections: a domain's data creates a million lasting objects
DIGITS = 12  # of a shown digest


class Simulations:
    """Access to tau2's modules, which are imported before the process is confined."""

    def __init__(self) -> None:
        from tau2 import config
        from tau2.agent.llm_agent import LLMAgent
        from tau2.evaluator import evaluator
        from tau2.orchestrator.orchestrator import Orchestrator
        from tau2.registry import registry
        from tau2.user import base, user_simulator
        from tau2.utils import DATA_DIR

        self.config, self.evaluator, self.registry = config, evaluator, registry
        self.agent, self.orchestrator = LLMAgent, Orchestrator
        self.stop, self.user_simulator = base.STOP, user_simulator
        self.data = Path(DATA_DIR) / "tau2"
        for name in CALCULATORS:
            vars(importlib.import_module(name))["eval"] = evaluate_expression  # shadows Python's own in that module
        self.tasks = cache(lambda domain: registry.get_tasks_loader(domain)(None))

    def items(self, request: dict[str, Json]) -> Json:
        """Return the tasks of a split. A task's number is its position in its domain's file, whatever the split."""
        return {
            "package": " ".join(package()),
            "data": self.digest(),
            "prompt": self.prompt(),
            "stop": self.stop,
            "steps": self.config.DEFAULT_MAX_STEPS,
            "errors": self.config.DEFAULT_MAX_ERRORS,
            "tasks": [
                {"domain": domain, "number": number, "id": task.id, "user": str(task.user_scenario), **truth(task)}
                for domain in DOMAINS
                for number, task in self.split(domain, request["split"])
            ],
        }

    def split(self, domain: str, name: str) -> list[tuple[int, Any]]:
        ids = set(self.registry.get_task_splits_loader(domain)()[name])
        return [(number, task) for number, task in enumerate(self.tasks(domain)) if task.id in ids]

    def digest(self) -> str:
        """Return a digest of all data that a simulation depends on."""
        found = hashlib.sha256()
        for folder in (*(self.data / "domains" / domain for domain in DOMAINS), self.data / "user_simulator"):
            for path in sorted(folder.iterdir()):
                if path.suffix in (".json", ".toml", ".md"):
                    found.update(f"{folder.name}/{path.name}\n".encode() + path.read_bytes())
        return found.hexdigest()[:DIGITS]

    def prompt(self) -> str:
        """Return a digest of the simulated users' prompt without their scenarios."""
        simulator = self.user_simulator
        guidelines = [simulator.get_global_user_sim_guidelines(use_tools=tools) for tools in (False, True)]
        return hashlib.sha256("\n".join([simulator.SYSTEM_PROMPT, *guidelines]).encode()).hexdigest()[:DIGITS]

    def run(self, request: dict[str, Json]) -> Json:
        """Simulate one task as tau2's `run_task` does, and return the messages with the evaluator's reward."""
        domain, task = request["domain"], self.tasks(request["domain"])[request["number"]]
        simulation = self.simulation(domain, task)
        try:
            done = simulation.run()
        except ConversationEnded:
            return {"messages": messages_of(simulation.trajectory)}
        outcome = {"ended": done.termination_reason.value, "messages": messages_of(done.messages)}
        try:
            reward = self.evaluator.evaluate_simulation(
                simulation=done,
                task=task,
                evaluation_type=self.evaluator.EvaluationType.ALL,
                solo_mode=False,
                domain=domain,
            )
        except Exception as error:
            return {**outcome, "unscored": f"{type(error).__name__}: {error}"[:500]}
        return {**outcome, "reward": reward.model_dump(mode="json")}

    def simulation(self, domain: str, task: Any) -> Any:
        environment = self.registry.get_env_constructor(domain)()
        tools = environment.get_user_tools() if environment.user_tools else None
        return self.orchestrator(
            domain=domain,
            agent=self.agent(
                tools=environment.get_tools(), domain_policy=environment.get_policy(), llm="agent", llm_args={}
            ),
            user=self.user_simulator.UserSimulator(
                tools=tools, instructions=str(task.user_scenario), llm="user", llm_args={}
            ),
            environment=environment,
            task=task,
            max_steps=self.config.DEFAULT_MAX_STEPS,
            max_errors=self.config.DEFAULT_MAX_ERRORS,
        )


def package() -> tuple[str, str]:
    """Return name and version of tau2's distribution."""
    name = importlib.metadata.packages_distributions()["tau2"][0]
    return name, importlib.metadata.version(name)


def truth(task: Any) -> Json:
    criteria = task.evaluation_criteria
    actions = criteria.actions or [] if criteria else []
    return {
        "actions": [[action.requestor, action.name, action.arguments] for action in actions],
        "infos": criteria.communicate_info or [] if criteria else [],
    }


def messages_of(trajectory: list[Any]) -> list[Json]:
    """Return the messages of a simulation in order; `by` says whom a tool answers."""
    return [
        {
            "role": one.role,
            "content": one.content,
            "calls": [[call.name, call.arguments] for call in getattr(one, "tool_calls", None) or []],
            "by": getattr(one, "requestor", one.role),
            "error": getattr(one, "error", False),
        }
        for one in trajectory
    ]


def start(parent: Parent) -> Doing:
    gc.set_threshold(MANY)
    replace_litellm(Speech(parent.call))
    simulations = Simulations()
    confine()
    return {"items": simulations.items, "run": simulations.run}


if __name__ == "__main__":
    parent = Parent()
    parent.serve(lambda: start(parent))
