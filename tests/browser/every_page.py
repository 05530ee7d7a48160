"""Every page of the site by the name of its address, and where the browser looks at it.

`tests/prove_web/test_every_page.py` fails for a page that is in none of these.
"""

HERE = "/my-team/demo/"

# Of the demo, which has a run with its rollouts.
PAGES = [
    "", "servers/", "servers/banking/", "tools/", "tools/transfer_money/", "graph/", "sessions/", "sessions/new/",
    "sessions/compare/",
    "datasets/", "datasets/new/", "datasets/1/", "datasets/1/sample/",
    "runs/", "runs/new/", "runs/1/", "runs/1/tools/", "runs/1/rollouts/1/",
    "runs/1/tools/outcomes/?all=1", "runs/1/rollouts/1/?view=list&low=0", "runs/1/rollouts/1/groups/1/",
    "runs/1/rollouts/1/1/", "runs/1/rollouts/?q=calls%3E0", "sweeps/", "sweeps/new/?preset=rates",
    "tools/?sensitive=1&sort=-used", "find/?q=transfer", "environments/", "environments/versions/banking/",
    "../", "../../account/password/", "../../account/notifications/",
    "review/agreement/", "review/reward/", "what-if/", "what-if/?name=1&repeats=0.1",
]  # fmt: skip

# Of the demo with three evaluations.
EVALUATIONS = [
    "evaluations/2/", "evaluations/3/", "evaluations/2/items/0/", "evaluations/2/compare/",
    "evaluations/2/compare/?with=1", "evaluations/2/compare/1/2/",
    "leaderboards/", "leaderboards/bfcl/", "leaderboards/teval/",
]  # fmt: skip

EXAMPLE = """
SELECT one.example FROM trajectories_trajectory one
JOIN trajectories_dataset held ON held.id = one.dataset_id JOIN accounts_project project ON project.id = held.project_id
WHERE project.slug = 'demo' AND held.number = 1 AND one.steps = 3 ORDER BY one.id LIMIT 1
"""  # other projects of the site may have trajectories, too

# Of a trajectory of the demo, which the test finds.
TRAJECTORY = ["datasets/1/{example}/", "datasets/1/{example}/acceptance/", "datasets/1/{example}/comments/"]

# Of a project with one of everything (tests/prove_web/furnished.py), by name.
FURNISHED = [
    "session", "session-connect", "session-faults", "session-branches", "session-trajectory", "third-party",
    "job", "trajectories", "version-new", "dataset-mix", "export", "import-new", "import-preview", "dataset-changes",
    "dataset-split", "trajectory-fix", "comment-edit", "trajectory", "queues", "queue-new", "queue", "queue-edit",
    "review", "run-collect", "run-compare", "run-behaviour", "paper", "run-import", "run-watch", "run-example", "sweep",
    "evaluations", "evaluation-new", "alerts", "alert", "alert-rules", "alert-rule", "alert-rule-new", "webhooks",
    "webhook", "job-queue", "workers", "shares", "share-new", "bin", "project-delete", "deleted-projects",
    "project-new", "audit", "api-tokens", "api-docs", "account", "account_reauthenticate", "shared",
    "leave", "team-edit", "account-sessions", "account-close", "evaluation-trials",
]  # fmt: skip

# Once one has said again who one is.
CONFIRMED = ["mfa_activate_totp", "mfa_add_webauthn", "mfa_generate_recovery_codes"]

EXCUSED = {
    "mfa_index": "the address of one's account",
    "mfa_list_webauthn": "the address of one's account",
}
