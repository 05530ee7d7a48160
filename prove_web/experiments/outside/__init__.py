"""Runs that are trained elsewhere: made and told of by a program, or read from the files of another tracker."""

TRACKERS = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "Weights & Biases"}
