"""The pages of servers, tools, the graph and live sessions."""
