"""The runs table of a project: columns for any metric or setting, search, sorting, grouping and saved views."""
