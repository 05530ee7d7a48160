"""The runs of a project as a table: columns of any metric or setting, searched, sorted, grouped, kept as views."""
