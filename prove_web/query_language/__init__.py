"""The search language of lists: syntax tree, parser, fields, lookups and completion."""
