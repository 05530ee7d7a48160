"""Metrics of the machine on which a run trains."""

from .metric import Metric

MACHINE = (
    Metric(
        "cpu_process",
        "CPU cores used",
        "Machine",
        "cores",
        "CPU seconds of the run's process since the previous step, divided by the elapsed seconds.",
        "Near the number of threads. Far below: it waits for other processes or a GPU.",
    ),
    Metric(
        "cpu_machine",
        "CPU load",
        "Machine",
        "share",
        "Share of the machine's CPU cores in use since the previous step.",
        "Little more than the run's own share, unless the machine is shared.",
    ),
    Metric(
        "memory",
        "Process memory",
        "Machine",
        "MB",
        "Resident memory of the run's process, in 10^6 bytes.",
        "Levels off after a few steps. Steady growth ends in an out-of-memory kill.",
    ),
    Metric(
        "memory_machine",
        "Memory load",
        "Machine",
        "share",
        "Share of the machine's memory in use.",
        "Below 90 %.",
    ),
    Metric(
        "gpu_load",
        "GPU load",
        "Machine",
        "share",
        "Mean over GPUs of the share of time with a kernel running, from NVML; GPU runs only.",
        "High during generation and update; low means waiting for the environment or the CPU.",
    ),
    Metric(
        "gpu_memory",
        "GPU memory",
        "Machine",
        "MB",
        "Memory in use on the run's GPU, all processes, in 10^6 bytes; GPU runs only.",
        "Below the card's memory with a margin.",
    ),
    Metric(
        "gpu_memory_peak",
        "Peak GPU memory",
        "Machine",
        "MB",
        "Peak memory of this process's tensors on the GPU since the previous step, in 10^6 bytes.",
        "Below the card's memory; growth with the lengths is expected.",
    ),
)
