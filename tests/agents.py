"""Programs that answer problems at the door, on the standard library alone: one for each thing that may happen."""

from __future__ import annotations

import sys
from pathlib import Path

ASKS = """
import json, os, sys, time, urllib.error, urllib.request
problem = json.loads(sys.stdin.readline())
def ask(messages, key=os.environ["OPENAI_API_KEY"], session=None, **more):
    body = json.dumps({"model": "policy", "messages": messages, **more}).encode()
    headers = {"Authorization": "Bearer " + key, **({"X-Session-ID": session} if session else {})}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        return {"status": error.code, **json.load(error)}
first = [{"role": "user", "content": problem["prompt"]}]
"""
ENDS = {
    "once": "ask(first)",
    "twice": """
answer = ask(first)
ask([*first, answer, {"role": "user", "content": "1"}])
""",
    "anew": """
ask(first)
ask([{"role": "system", "content": "2"}, {"role": "user", "content": "3"}])
""",
    "tool": """
tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
answer = ask(first, tools=tools)
(call,) = answer["tool_calls"]
result = {"role": "tool", "tool_call_id": call["id"], "content": call["function"]["arguments"]}
ask([*first, answer, result], tools=tools)
""",
    "stops": 'print(json.dumps({"reward": float(ask(first, stop=["2"])["content"] == "1")}))',
    "rewarded": """
ask(first)
print("a line")
print(json.dumps({"reward": 0.25, "told": sorted(problem)}))
""",
    "unrewarded": 'ask(first); print("good")',
    "silent": "",
    "dies": 'ask(first); sys.exit("out of paper")',
    "hangs": "ask(first); time.sleep(600)",
    "wrong-key": 'told = ask(first, key="wrong"); assert told["status"] == 401; ask(first)',
    "wrong-key-in-training": """
with open(__file__ + ".calls", "a") as file:  # an exam of one answer comes before a step of two
    file.write(".")
    file.flush()
    calls = os.fstat(file.fileno()).st_size
ask(first, **({"key": "wrong"} if calls in (2, 3) else {}))
""",
    "two-sessions": 'ask(first, session="a"); told = ask(first, session="b"); assert told["status"] == 409, told',
    "at-once": """
import threading
threading.Thread(target=ask, args=(first,), daemon=True).start()
time.sleep(0.3)
told = ask([{"role": "user", "content": "other"}])
assert told["status"] == 409, told
""",
    "leaves": """
import http.client, urllib.parse
place = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
connection = http.client.HTTPConnection(place.hostname, place.port)
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
body = json.dumps({"messages": first, "stream": True})
connection.request("POST", place.path + "/chat/completions", body, headers)
connection.close()
time.sleep(1)
assert ask(first)["content"]
""",
    "asks-for-more": "assert ask(first, n=2)['status'] == 400",
    "unspellable": 'ask([{"role": "user", "content": "é"}])',
}


def agent(folder: Path, ends: str) -> str:
    """The command of an agent."""
    file = folder / f"{ends}.py"
    file.write_text(ASKS + ENDS[ends])
    return f"{sys.executable} -I -S {file}"
