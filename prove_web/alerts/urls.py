"""URLs of alerts under /<organisation>/<project>/."""

from django.urls import path

from . import pages, rule_pages, webhook_views

urlpatterns = [
    path("alerts/", pages.alerts, name="alerts"),
    path("alerts/bell/", pages.alert_bell, name="alert-bell"),
    path("alerts/rules/", rule_pages.alert_rules, name="alert-rules"),
    path("alerts/rules/add/", rule_pages.alert_rules_add, name="alert-rules-add"),
    path("alerts/rules/new/", rule_pages.alert_rule_new, name="alert-rule-new"),
    path("alerts/rules/<int:rule>/", rule_pages.alert_rule, name="alert-rule"),
    path("alerts/rules/<int:rule>/switch/", rule_pages.alert_rule_switch, name="alert-rule-switch"),
    path("alerts/webhooks/", webhook_views.webhooks, name="webhooks"),
    path("alerts/webhooks/<int:hook>/", webhook_views.webhook, name="webhook"),
    path("alerts/webhooks/<int:hook>/change/", webhook_views.webhook_change, name="webhook-change"),
    path("alerts/<int:alert>/", pages.alert, name="alert"),
    path("alerts/<int:alert>/change/", pages.alert_change, name="alert-change"),
]
