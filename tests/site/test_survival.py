"""Whatever part of the site is killed during a run, the run ends as done and its curve is complete."""

import signal
from pathlib import Path

import psutil
import pytest

from prove_web.operations.bootstrap import SMALL
from tests.site.running import running
from tests.waiting import PATIENCE

pytest.importorskip("torch", reason="a run needs torch")

TRAINING = (("the training child", ("training_worker.jobs",)), ("the GPU worker", ("celery", "training@")))
OTHERS = (("the broker", ("valkey-server",)), ("the web", ("uvicorn",)), ("the writer", ("celery", "events@")))
RUN = "SELECT state, attempt, error FROM live_job WHERE kind = 'run'"
STEPS = "SELECT step FROM experiments_point ORDER BY step"


@pytest.mark.long
def test_a_run_survives_the_death_of_each_part_of_the_site(tmp_path: Path, graph_folder: Path) -> None:
    with running(tmp_path, graph_folder, PROVE_LOST_AFTER="15") as site:
        for i, (name, words) in enumerate((*TRAINING, *OTHERS)):
            site.wait(lambda due=i + 2: len(site.rows(STEPS)) >= due)
            victim = site.wait(lambda words=words: site.find(*words))
            victim.send_signal(signal.SIGKILL)
            psutil.wait_procs([victim], timeout=PATIENCE)
            assert site.rows(RUN)[0][0] != "done", f"the run was over before {name} could be killed"
            if i < len(TRAINING):
                site.wait(lambda due=i + 2: site.rows(RUN)[0][1] >= due)
        site.wait(lambda: site.rows(RUN)[0][0] in ("done", "failed", "lost", "stopped"))
        [(state, attempt, error)] = site.rows(RUN)
        assert state == "done", error
        assert attempt >= 3, "both the child and the worker were killed, so others went on"
        steps = [step for (step,) in site.rows(STEPS)]
        assert steps == list(range(1, SMALL[1]["max_steps"] + 1))
        assert site.find("uvicorn") and site.find("celery", "events@"), "what was killed is running again"
