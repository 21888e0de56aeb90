"""An agent on the OpenAI SDK that knows nothing of Assay: it may call a calculator, and answers."""
# pyright: reportMissingImports=false

import json
import sys

from openai import OpenAI

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "calculate",
            "description": "The value of a sum.",
            "parameters": {"type": "object", "properties": {"sum": {"type": "string"}}, "required": ["sum"]},
        },
    }
]


def main() -> None:
    problem = json.loads(sys.stdin.readline())
    client = OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY say where, and which play
    messages = [{"role": "user", "content": problem["prompt"]}]
    called = False
    for _ in range(3):
        answer = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS, max_tokens=100)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        called = True
        for call in message.tool_calls:
            wanted = json.loads(call.function.arguments).get("sum", "")
            told = str(eval(wanted)) if wanted and set(wanted) <= set("0123456789+-*() ") else "no sum"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
    print(json.dumps({"reward": float(called)}))


main()
