"""From live servers to replay-validated conversations, without a language model."""
