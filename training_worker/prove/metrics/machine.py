"""Metrics of the machine that a run is trained on."""

from .metric import Metric

MACHINE = (
    Metric(
        "cpu_process",
        "Cores of the run",
        "Machine",
        "cores",
        "Processor seconds of the run's process since the step before, divided by the seconds between.",
        "Near the number of threads. Far below: it waits for others, or for a GPU.",
    ),
    Metric(
        "cpu_machine",
        "CPU load",
        "Machine",
        "share",
        "Share of all cores of the machine that was busy since the step before.",
        "Little more than the run's own share, unless the machine is shared.",
    ),
    Metric(
        "memory",
        "Memory of the run",
        "Machine",
        "MB",
        "Resident memory of the run's process, in 10^6 bytes.",
        "Levels off after a few steps. Steady growth ends with the process killed.",
    ),
    Metric(
        "memory_machine",
        "Memory load",
        "Machine",
        "share",
        "Share of the machine's memory that is in use.",
        "Below 90 %.",
    ),
    Metric(
        "gpu_load",
        "GPU load",
        "Machine",
        "share",
        "Mean over GPUs of the share of time with a kernel running, as NVML tells it; runs on a GPU only.",
        "High during generation and update; low means that it waits for the environment or the CPU.",
    ),
    Metric(
        "gpu_memory",
        "GPU memory",
        "Machine",
        "MB",
        "Memory in use on the run's GPU, of all processes, in 10^6 bytes; runs on a GPU only.",
        "Below the card's memory with a margin.",
    ),
    Metric(
        "gpu_memory_peak",
        "Peak GPU memory",
        "Machine",
        "MB",
        "Most memory that tensors of this process held on the GPU since the step before, in 10^6 bytes.",
        "Below the card's memory; growth with the lengths is to be expected.",
    ),
)
