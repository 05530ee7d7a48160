"""T-Eval (Chen et al., arXiv 2312.14033): tool use in six dimensions, each as JSON and as plain text."""
