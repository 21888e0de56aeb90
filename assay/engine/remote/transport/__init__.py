"""Requests on their way to servers, and answers on their way back: connection, secret, messages and threads."""
