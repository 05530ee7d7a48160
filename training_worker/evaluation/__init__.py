"""Benchmarks for any policy: external suites under their own rules, and suites on our own servers."""
