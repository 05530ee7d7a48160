"""A program can change whatever a browser can: each page that takes a form, with the operations that do the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import URLResolver, get_resolver

from prove_web.api.api import NAMESPACE

from .api_operations import OPERATIONS

# The operations that do what a page does; the test fails for a new page until it is listed here or below.
DOES = {
    "project-new": "make_project",
    "project-delete": "delete_project",
    "deleted-project-restore": "restore_project",
    "job-stop": "stop_job stop_run",
    "job-resume": "resume_job resume_run",
    "job-move": "move_job",
    "graph-prove": "prove_graph",
    "environment-save": "set_environment",
    "servers-check": "check_servers",
    "server-check": "check_servers",
    "tool-call": "open_session call_tool",
    "session-new": "open_session",
    "session-call": "call_tool",
    "session-fork": "fork_session",
    "session-reset": "reset_session",
    "session-remove": "end_session",
    "session-token": "make_session_token",
    "session-token-revoke": "revoke_session_token",
    "session-faults": "set_session_faults",
    "session-trajectory": "keep_session",
    "call-save": "save_call",
    "saved-call": "rename_saved_call remove_saved_call",
    "trajectory-session": "open_trajectory",
    "rollout-session": "open_rollout",
    "dataset-new": "make_dataset",
    "version-new": "make_version",
    "dataset-split": "split_dataset",
    "dataset-mix": "mix_datasets",
    "import-new": "begin_import",
    "import-piece": "send_piece",
    "import-preview": "preview_import start_import",
    "run-collect": "collect_rollouts",
    "dataset-delete": "delete_dataset",
    "bin-restore": "restore_deleted",
    "trajectory-views": "keep_view",
    "trajectory-view": "rename_view remove_view",
    "trajectory-what-if": "edit_trajectory",
    "rollout-what-if": "edit_rollout",
    "trajectory-fix": "fix_trajectory try_fix",
    "trajectory-accept": "accept_trajectory",
    "comment-add": "add_comment",
    "comment-edit": "edit_comment",
    "comment-remove": "remove_comment restore_comment",
    "thread-resolve": "resolve_thread",
    "queue-new": "make_queue",
    "queue-edit": "change_queue",
    "queue-close": "close_queue",
    "disagreement-queue": "make_disagreement_queue",
    "review": "submit_review",
    "review-undo": "undo_review",
    "review-adjudicate": "settle_item",
    "run-new": "launch_run try_run stop_trial",
    "run-mark": "mark_run",
    "run-keep": "keep_run",
    "run-notes": "write_notes",
    "run-delete": "delete_run",
    "runs-mark": "mark_runs",
    "runs-act": "act_on_runs",
    "run-views": "keep_view",
    "run-view": "rename_view remove_view",
    "checkpoint-export-make": "make_export",
    "reward-save": "save_reward",
    "reward-remove": "remove_reward",
    "sweep-new": "launch_sweep",
    "sweep-stop": "stop_sweep",
    "evaluation-new": "launch_evaluation",
    "alert-change": "change_alert",
    "alert-rules-add": "add_ready_made_rules",
    "alert-rule-new": "make_alert_rule",
    "alert-rule": "change_alert_rule",
    "alert-rule-switch": "switch_alert_rule remove_alert_rule restore_alert_rule",
    "webhooks": "make_webhook",
    "webhook-change": "test_webhook switch_webhook remove_webhook restore_webhook",
    "share-new": "make_share",
    "share-withdraw": "withdraw_share",
}
PEOPLE = "who is in a team is said by a person who is signed in, so that a token that got out lets nobody in"
ONESELF = "it is about a person's own account"
SIGNING = "it is how a person comes to be known"
MACHINE = "a machine asks this, with a token of its own"
OWN = "it is how a person's own pages look, or what their bell tells"
TOKENS = "a token that got out must not make another"
GATEWAY = "the gateway is for clients near the site; a program lets them into its session with make_session_token"
OTHERS = "a server of others runs on the site's side: a person looks at what it is"
NOT_FOR_PROGRAMS = {
    **dict.fromkeys(("sign-in", "account_login", "mfa_login_webauthn", "mfa_authenticate", "sign-out"), SIGNING),
    **dict.fromkeys(("openid_connect_login", "openid_connect_callback", "account_reauthenticate"), SIGNING),
    **dict.fromkeys(("mfa_reauthenticate", "mfa_reauthenticate_webauthn"), SIGNING),
    **dict.fromkeys(("account-sessions", "account-close", "password", "identity-remove"), ONESELF),
    **dict.fromkeys(("mfa_add_webauthn", "mfa_remove_webauthn", "mfa_activate_totp", "mfa_deactivate_totp"), ONESELF),
    **dict.fromkeys(("mfa_view_recovery_codes", "mfa_generate_recovery_codes"), ONESELF),
    **dict.fromkeys(("mfa_download_recovery_codes", "leave"), ONESELF),
    **dict.fromkeys(("join", "member-add", "member-change", "member-remove", "invitation-new"), PEOPLE),
    **dict.fromkeys(("invitation-withdraw", "team-edit", "second-factor-require"), PEOPLE),
    **dict.fromkeys(("worker-hello", "worker-next", "worker-tell", "worker-result", "worker-results"), MACHINE),
    "worker-goodbye": MACHINE,
    **dict.fromkeys(("notifications-read", "runs-columns", "alert-bell"), OWN),
    **dict.fromkeys(("api-token-new", "api-token-revoke"), TOKENS),
    **dict.fromkeys(("enrolment-new", "enrolment-revoke", "enrolment-drain"), TOKENS),
    **dict.fromkeys(("gateway-switch", "gateway-session-new", "gateway-session"), GATEWAY),
    **dict.fromkeys(("third-party-add", "third-party", "third-party-remove"), OTHERS),
    "graph-open": "a program opens a session of the evidence's world itself: read_graph tells it",
    "run-import": "the files of another tracker; a program tells of its run with make_outside_run and tell_run",
}


def pages(patterns: list[Any]) -> Iterator[Any]:
    for each in patterns:
        if not isinstance(each, URLResolver):
            yield each
        elif each.namespace != NAMESPACE:
            yield from pages(each.url_patterns)


def takes_forms(view: Any) -> bool:
    """Return whether the view accepts POST: no decorator restricts its methods, or POST is one of them."""
    while view is not None:
        names = getattr(getattr(view, "__code__", None), "co_freevars", ())
        if "request_method_list" in names:
            return "POST" in view.__closure__[names.index("request_method_list")].cell_contents
        view = getattr(view, "__wrapped__", None)
    return True


CHANGING = {each.name: each.callback.rule for each in pages(get_resolver().url_patterns) if takes_forms(each.callback)}


def test_what_can_be_changed_in_a_browser_can_be_by_a_program_or_it_is_said_why_not() -> None:
    assert {*DOES} & {*NOT_FOR_PROGRAMS} == set()
    assert {*DOES, *NOT_FOR_PROGRAMS} == {*CHANGING}


def test_a_page_and_its_operations_are_under_the_same_rule() -> None:
    rules = {each.name: each.rule for each in OPERATIONS}
    found = {page: {rules.get(name, "missing") for name in names.split()} for page, names in DOES.items()}
    assert {page: actual for page, actual in found.items() if actual != {CHANGING[page]}} == {}
