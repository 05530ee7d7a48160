"""External runs: logged by another program, or imported from another tracker's files."""

TRACKERS = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "Weights & Biases"}
