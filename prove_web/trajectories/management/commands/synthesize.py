"""Command that creates a dataset by the name of its recipe: the same bytes for any number of processes."""

import errno
import os
from argparse import ArgumentParser
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from training_worker.core.stage_cache import StageFailed
from training_worker.core.terminal import show_count_bar
from training_worker.core.trajectory import Split, UnreadableData
from training_worker.datasets import dataset_folder
from training_worker.datasets.export.publish import publish
from training_worker.datasets.recipes import PLANS, Plan
from training_worker.endpoint import EndpointFailed
from training_worker.endpoint.settings import from_environment, variable
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.dataset import CannotBeMet, Progress

DIED = "processes died, possibly out of memory"
GOES_ON = "the same command resumes from here"


class Command(BaseCommand):
    """`manage.py synthesize prove-13k`: its folder holds lines, Parquet, a manifest and a data card with plots."""

    help = "Create a dataset by a recipe: " + "; ".join(f"{name}, {plan.title}" for name, plan in PLANS.items()) + "."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("recipe", choices=PLANS, help="recipe of the dataset")
        parser.add_argument("--out", type=Path, help="output folder; data/datasets/RECIPE by default")
        parser.add_argument("--processes", type=int, help="number of processes; one per core by default")
        parser.add_argument("--abstention", type=Path, help="folder of an imported dataset with abstention examples")
        parser.add_argument(
            "--language-model",
            action="store_true",
            help="word the conversations with the model at PROVE_LLM_URL",
        )
        parser.add_argument("--replace", action="store_true", help="replace an existing finished dataset")

    def handle(self, *args: object, **options: object) -> None:
        plan = PLANS[str(options["recipe"])]
        data = Path(settings.PROVE_DATA)
        out = Path(str(options["out"] or data / "datasets" / plan.name)).absolute()
        processes, given = options["processes"], options["abstention"]
        abstention = Path(str(given)).absolute() if given else None
        if processes is not None and not (isinstance(processes, int) and 1 <= processes <= 256):
            raise CommandError("--processes must be a number from 1 to 256.")
        if abstention == out:
            raise CommandError("--abstention and --out are the same folder; name another with --out.")
        replacing = bool(options["replace"])
        try:
            if options["language_model"]:
                plan, processes = taught(plan, data / "answers", processes)
            out.mkdir(parents=True, exist_ok=True)  # fail now rather than after all the work
            dataset_folder.require_free_folder(out, replacing)
            with show_count_bar("graph") as progress:
                graph = load_or_build(data / "graph", progress)
            with show_count_bar("dataset") as progress:
                manifest = dataset_folder.make(
                    plan,
                    out,
                    graph,
                    lambda split: self.wrap_progress(split, progress),
                    processes,
                    abstention=abstention,
                    replacing=replacing,
                )
            publish(out)
        except (
            CannotBeMet,
            EndpointFailed,
            dataset_folder.DatasetExistsError,
            dataset_folder.NoAbstention,
            UnreadableData,
        ) as reason:
            raise CommandError(str(reason)) from None
        except FileNotFoundError as error:
            raise CommandError(f"{error.filename} is not there; `manage.py import_data` makes such a folder.") from None
        except OSError as error:
            raise CommandError(explain(error, out)) from error
        except StageFailed:
            raise CommandError(f"{out} is in use by another command; name another folder with --out.") from None
        except BrokenProcessPool:
            raise CommandError(f"{DIED}: try --processes 1; {GOES_ON}") from None
        except KeyboardInterrupt:
            made = (out / dataset_folder.MANIFEST).exists()
            rest = f"the dataset is complete; `manage.py export {out}` writes the missing files" if made else GOES_ON
            raise CommandError(f"stopped; {rest}", returncode=130) from None
        self.stdout.write(dataset_folder.format_manifest(manifest))
        self.stdout.write(f"in {out}; `python manage.py verify {out}` replays it")

    def wrap_progress(self, split: Split, progress: Progress) -> Progress:
        """Return a progress function that also prints what an earlier try left."""
        words = 0

        def report_progress(done: int, total: int) -> None:
            nonlocal words
            words += 1
            if done and words == 1:
                self.stdout.write(f"{split.replace('_', '-')}: {done:,} of {total:,} exist from before; resuming")
            progress(done, total)

        return report_progress


def taught(plan: Plan, answers: Path, processes: object) -> tuple[Plan, int]:
    """Return the plan with a language model as teacher, and the number of processes. Raises EndpointFailed."""
    used = from_environment(os.environ, answers)
    os.environ.setdefault(variable("cache"), str(answers))  # for the processes that send requests
    recipe = replace(plan.recipe, teacher=used.model)
    return replace(plan, recipe=recipe), processes if isinstance(processes, int) else used.parallel


def explain(error: OSError, out: Path) -> str:
    where = error.filename or out
    if error.errno == errno.ENOSPC:
        return f"the disk is full at {where}: free disk space; {GOES_ON}"
    return f"{where}: {error.strerror}; name another folder with --out."
