"""The engine: it synthesizes, scores and trains. Only `policy`, `rollout`, `training` and what uses them need torch."""
