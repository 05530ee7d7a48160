"""Metrics of the update: loss, entropy, distance from the start, how much was clipped."""

from .metric import Metric

POLICY = (
    Metric(
        "loss",
        "Loss",
        "Policy",
        "number",
        "The loss that was minimised in this step, as the trainer tells it.",
        "With GRPO near 0 and without meaning by itself; with supervision it falls and levels off.",
    ),
    Metric(
        "token_accuracy",
        "Token accuracy",
        "Policy",
        "share",
        "Share of the demonstrations' tokens that are the model's first choice; supervised runs only.",
        "Rises to 0.9 and more; 1.0 on training data is learning by heart.",
        "more",
    ),
    Metric(
        "entropy",
        "Entropy",
        "Policy",
        "nats",
        "Mean entropy of the policy's next-token distribution over the tokens it sampled, estimated by their surprise "
        "(less their mean log-probability).",
        "Falls slowly. Near 0 early on is a collapse: raise the temperature or lower the learning rate.",
    ),
    Metric(
        "kl",
        "KL",
        "Policy",
        "nats",
        "Mean over trained tokens of exp(d) - d - 1, d the reference's log-probability less the policy's (the "
        "estimator k3 of Schulman 2020); told where the KL coefficient is not 0.",
        "Grows slowly and stays below about 0.1 a token. A jump: the learning rate is too high.",
    ),
    Metric(
        "clipped",
        "Clipped",
        "Policy",
        "share",
        "Share of trained tokens whose probability ratio was clipped, either way.",
        "Below 0.2. With one update a batch it is 0: the policy that is updated is the one that spoke.",
    ),
    Metric(
        "clipped_low",
        "Clipped low",
        "Policy",
        "share",
        "Share of trained tokens with a negative advantage and a ratio below 1 - clip_low.",
        "Below 0.1.",
    ),
    Metric(
        "clipped_high",
        "Clipped high",
        "Policy",
        "share",
        "Share of trained tokens with a positive advantage and a ratio above 1 + clip_high.",
        "Below 0.1.",
    ),
    Metric(
        "grad_norm",
        "Gradient norm",
        "Policy",
        "number",
        "Norm of the gradient in the update of a step, before it is clipped.",
        "Spikes move the policy far; steady growth means that the learning rate is too high.",
    ),
    Metric(
        "learning_rate",
        "Learning rate",
        "Policy",
        "number",
        "The rate of this step's update.",
        "As it was configured: up over the warm-up, down at the end where a decay is set.",
    ),
    Metric(
        "epoch",
        "Epoch",
        "Policy",
        "number",
        "Passes over the data so far; supervised runs only.",
        "Grows evenly. Held-out reward that falls after a few: stop there.",
    ),
)
