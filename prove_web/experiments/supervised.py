"""What a supervised run shows: loss and token accuracy in the place of reward and rollouts; held-out reward alike."""

from __future__ import annotations

from .figures import CHARTS, HELD_OUT, STEP_FIGURES, Chart, Figure, Tile, explained, tiles
from .models import Run, RunKind

LOSS = Figure(
    "loss",
    "Loss",
    "number",
    "Mean negative log-likelihood of the policy's own tokens in the demonstrations of a step, in nats.",
    "Falls, then levels off. A fall without a rise of held-out reward is learning by heart.",
    "less",
)
ACCURACY = Figure(
    "token_accuracy",
    "Token accuracy",
    "share",
    "Share of the policy's own tokens that it would have written itself, had it always taken the likeliest.",
    "Rises towards 100 %, which ids that must be copied keep it from for long.",
    "more",
)
TOKENS = Figure(
    "tokens_per_s",
    "Tokens",
    "per second",
    "Tokens of the demonstrations that were read, prompts included, divided by the seconds of the step.",
    "Steady.",
    "more",
)
GRADIENT = Figure("grad_norm", "Gradient", "number", "Norm of the gradient before it is clipped.", "Steady, no spikes.")
BY_METRIC = {figure.metric: figure for figure in STEP_FIGURES}
FIGURES = (ACCURACY, BY_METRIC["entropy"], GRADIENT, TOKENS, BY_METRIC["step_s"])
SUPERVISED_CHARTS = (
    Chart("Loss", explained(LOSS), (("Loss", "loss"),), "nats", wide=True),
    Chart("Held-out reward", explained(HELD_OUT), (("Greedy", "reward"),), source="held_out", wide=True),
    Chart("Token accuracy", explained(ACCURACY), (("Own tokens", "token_accuracy"),), "share"),
    Chart("Entropy", explained(BY_METRIC["entropy"]), (("Entropy", "entropy"),), "nats"),
    Chart("Throughput", explained(TOKENS), (("Tokens", "tokens_per_s"),), "tokens/s"),
    Chart("Step time", explained(BY_METRIC["step_s"]), (("Step", "step_s"),), "s"),
    Chart(
        "Learning rate",
        "Rises over the first steps, falls over the last share of the run.",
        (("Learning rate", "learning_rate"),),
    ),
    Chart("Gradient norm", explained(GRADIENT), (("Gradient norm", "grad_norm"),)),
)


def tiles_of(run: Run) -> list[Tile]:
    return tiles(run, LOSS, FIGURES) if run.kind == RunKind.SFT else tiles(run)


def charts_of(run: Run) -> tuple[Chart, ...]:
    return SUPERVISED_CHARTS if run.kind == RunKind.SFT else CHARTS
