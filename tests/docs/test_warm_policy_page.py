"""docs/warm-policy.md agrees with the card of the shipped policy."""

import json
from pathlib import Path

from training_worker.core.models import SHIPPED
from training_worker.core.warm import UNSEEN_SERVERS, UNSEEN_TOOLS

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_figures_of_the_card() -> None:
    page, card = (ROOT / "docs" / "warm-policy.md").read_text("utf-8"), json.loads((SHIPPED / "card.json").read_text())
    vocabulary = len(json.loads((SHIPPED / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    megabytes = (SHIPPED / "model.safetensors").stat().st_size / 1e6
    sampled, greedy = (card["evaluation"]["end"][mode] for mode in ("sampled", "greedy"))
    quarters = [f"{100 * card['evaluation'][at]['greedy']['success']:.0f}%" for at in ("1", "2", "3", "end")]
    figures = [
        f"{megabytes:.1f} MB of safetensors",
        f"byte-level BPE of {vocabulary:,} tokens",
        f"{card['data']['examples']:,} conversations",
        f"seed {card['seed']}, {card['minutes']:.0f} minutes on two CPU threads, {card['steps']:,} steps",
        f"{card['tokens'] / 1e6:.1f}M tokens",
        f"success {100 * sampled['success']:.0f}% sampled, {100 * greedy['success']:.0f}% greedy",
        f"reward {sampled['reward']:.2f} sampled, {greedy['reward']:.2f} greedy",
        f"was {', '.join(quarters[:3])} and {quarters[3]}",
        *(f"`{name}`" for name in (*UNSEEN_TOOLS, *UNSEEN_SERVERS)),
        f"layers {card['shape']['layers']}, width {card['shape']['width']}",
    ]
    assert [figure for figure in figures if figure not in page] == []
