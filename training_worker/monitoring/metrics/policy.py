"""Metrics of the policy update: loss, entropy, KL divergence and clipping."""

from .metric import Metric

POLICY = (
    Metric(
        "loss",
        "Loss",
        "Policy",
        "number",
        "Loss of this step, as reported by the trainer.",
        "GRPO: near 0, not meaningful by itself. Supervised: falls and levels off.",
    ),
    Metric(
        "token_accuracy",
        "Token accuracy",
        "Policy",
        "share",
        "Share of the demonstrations' tokens that are the model's top prediction; supervised runs only.",
        "Rises to 0.9 or more; 1.0 on training data is memorisation.",
        "more",
    ),
    Metric(
        "entropy",
        "Entropy",
        "Policy",
        "nats",
        "Mean entropy of the policy's next-token distribution over sampled tokens, estimated as their mean negative "
        "log-probability.",
        "Falls slowly. Near 0 early in the run is a collapse: raise the temperature or lower the learning rate.",
    ),
    Metric(
        "kl",
        "KL",
        "Policy",
        "nats",
        "Mean over trained tokens of exp(d) - d - 1, d the reference's log-probability minus the policy's (the "
        "k3 estimator of Schulman 2020); logged if the KL coefficient is above 0.",
        "Grows slowly and stays below about 0.1 per token. A jump: the learning rate is too high.",
    ),
    Metric(
        "clipped",
        "Clipped",
        "Policy",
        "share",
        "Share of trained tokens whose probability ratio was clipped, low or high.",
        "Below 0.2. 0 with one update per batch, as sampling and updated policy are the same.",
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
        "Norm of the gradient of a step, before clipping.",
        "No spikes, which move the policy far; steady growth means the learning rate is too high.",
    ),
    Metric(
        "learning_rate",
        "Learning rate",
        "Policy",
        "number",
        "Learning rate of this step's update.",
        "As configured: rises over the warm-up steps, decays at the end if a decay is set.",
    ),
    Metric(
        "epoch",
        "Epoch",
        "Policy",
        "number",
        "Passes over the data so far; supervised runs only.",
        "Grows evenly. Stop when the held-out reward falls after a few epochs.",
    ),
)
