"""One conversation through a provider's own client: clients.py DIALECT BASE_URL once|stream."""

import base64
import json
import sys

dialect, base, way = sys.argv[1:]
stream = way == "stream"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SCHEMA = {"type": "object", "properties": {"harm": {"type": "boolean"}}, "required": ["harm"], "additionalProperties": False}
TITLED = {**SCHEMA, "title": "verdict"}
SYSTEM = "You judge."
RESULTS = ["inside of a", "inside of b"]


def url():
    return "data:image/png;base64," + base64.b64encode(PNG).decode()


class Chat:
    def __init__(self, key):
        import openai

        self.error = openai.APIStatusError
        self.client = openai.OpenAI(api_key=key, base_url=base, max_retries=0)
        self.messages = [{"role": "system", "content": SYSTEM}]

    def ask(self, **more):
        more = {"model": "scripted", "messages": self.messages, **more}
        if not stream:
            return self.client.chat.completions.create(**more).choices[0].message
        with self.client.chat.completions.stream(**more, stream_options={"include_usage": True}) as events:
            for _ in events:
                pass
            whole = events.get_final_completion()
        assert whole.usage.prompt_tokens > 0
        return whole.choices[0].message

    def hi(self):
        parts = [{"type": "text", "text": "Say hi."}, {"type": "image_url", "image_url": {"url": url()}}]
        messages = self.messages + [{"role": "user", "content": parts}]
        return self.ask(messages=messages, max_completion_tokens=100, logprobs=True, top_logprobs=1).content

    def tools(self):
        tool = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": PARAMETERS}}
        self.messages.append({"role": "user", "content": "Look."})
        said = self.ask(tools=[tool], tool_choice="required")
        calls = said.tool_calls
        self.messages.append(said.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        for call, result in zip(calls, RESULTS):
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        first = {"text": said.content, "calls": [{"name": c.function.name, "arguments": json.loads(c.function.arguments)} for c in calls]}
        return first, self.ask(tools=[tool]).content

    def verdict(self):
        form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True}}
        return self.ask(messages=[{"role": "user", "content": "?"}], response_format=form).content

    def fail(self, text):
        self.client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": text}])


class Responses:
    def __init__(self, key):
        import openai

        self.error = openai.APIStatusError
        self.client = openai.OpenAI(api_key=key, base_url=base, max_retries=0)

    def ask(self, said, **more):
        more = {"model": "scripted", "instructions": SYSTEM, "input": said, **more}
        if not stream:
            return self.client.responses.create(**more)
        with self.client.responses.stream(**more) as events:
            for _ in events:
                pass
            return events.get_final_response()

    def hi(self):
        parts = [{"type": "input_text", "text": "Say hi."}, {"type": "input_image", "image_url": url(), "detail": "auto"}]
        return self.ask([{"role": "user", "content": parts}], max_output_tokens=100).output_text

    def tools(self):
        tool = {"type": "function", "name": "look", "description": "Looks.", "parameters": PARAMETERS, "strict": True}
        talk = [{"role": "user", "content": "Look."}]
        said = self.ask(talk, tools=[tool], tool_choice="required")
        calls = [item for item in said.output if item.type == "function_call"]
        talk += [item.model_dump(exclude_none=True) for item in said.output]
        talk += [{"type": "function_call_output", "call_id": c.call_id, "output": r} for c, r in zip(calls, RESULTS)]
        first = {"text": said.output_text, "calls": [{"name": c.name, "arguments": json.loads(c.arguments)} for c in calls]}
        return first, self.ask(talk, tools=[tool]).output_text

    def verdict(self):
        form = {"format": {"type": "json_schema", "name": "verdict", "schema": SCHEMA, "strict": True}}
        return self.ask("?", text=form).output_text

    def fail(self, text):
        self.client.responses.create(model="scripted", input=text)


class Anthropic:
    def __init__(self, key):
        import anthropic

        self.error = anthropic.APIStatusError
        self.client = anthropic.Anthropic(api_key=key, base_url=base, max_retries=0)

    def ask(self, messages, **more):
        more = {"model": "scripted", "max_tokens": 100, "system": SYSTEM, "messages": messages, **more}
        if not stream:
            return self.client.messages.create(**more)
        with self.client.messages.stream(**more) as events:
            for _ in events:
                pass
            return events.get_final_message()

    @staticmethod
    def text(message):
        return "".join(block.text for block in message.content if block.type == "text")

    def hi(self):
        source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
        parts = [{"type": "text", "text": "Say hi."}, {"type": "image", "source": source}]
        return self.text(self.ask([{"role": "user", "content": parts}]))

    def tools(self):
        tool = {"name": "look", "description": "Looks.", "input_schema": PARAMETERS}
        talk = [{"role": "user", "content": "Look."}]
        said = self.ask(talk, tools=[tool], tool_choice={"type": "any"})
        calls = [block for block in said.content if block.type == "tool_use"]
        talk.append({"role": "assistant", "content": [block.model_dump(exclude_none=True, include={"type", "text", "id", "name", "input", "thinking", "signature"}) for block in said.content]})
        results = [{"type": "tool_result", "tool_use_id": c.id, "content": r} for c, r in zip(calls, RESULTS)]
        talk.append({"role": "user", "content": results})
        first = {"text": self.text(said), "calls": [{"name": c.name, "arguments": c.input} for c in calls]}
        return first, self.text(self.ask(talk, tools=[tool]))

    def verdict(self):
        form = {"format": {"type": "json_schema", "schema": TITLED}}
        return self.text(self.ask([{"role": "user", "content": "?"}], output_config=form))

    def fail(self, text):
        self.client.messages.create(model="scripted", max_tokens=9, messages=[{"role": "user", "content": text}])


class Gemini:
    def __init__(self, key):
        from google import genai

        self.types = genai.types
        self.error = genai.errors.APIError
        self.client = genai.Client(api_key=key, http_options=self.types.HttpOptions(base_url=base))

    def ask(self, contents, **config):
        config = self.types.GenerateContentConfig(
            system_instruction=SYSTEM, automatic_function_calling={"disable": True}, **config
        )
        more = {"model": "scripted", "contents": contents, "config": config}
        if not stream:
            return self.client.models.generate_content(**more).candidates[0].content.parts
        chunks = list(self.client.models.generate_content_stream(**more))
        assert chunks[-1].candidates[0].finish_reason == "STOP"
        return [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]

    @staticmethod
    def text(parts):
        return "".join(part.text or "" for part in parts)

    def hi(self):
        image = self.types.Part.from_bytes(data=PNG, mime_type="image/png")
        return self.text(self.ask(["Say hi.", image], max_output_tokens=100, response_logprobs=True, logprobs=1))

    def tools(self):
        types = self.types
        tool = types.FunctionDeclaration(name="look", description="Looks.", parameters_json_schema=PARAMETERS)
        tools = {"tools": [types.Tool(function_declarations=[tool])]}
        talk = [types.Content(role="user", parts=[types.Part(text="Look.")])]
        said = self.ask(talk, **tools, tool_config={"function_calling_config": {"mode": "ANY"}})
        calls = [part.function_call for part in said if part.function_call]
        talk.append(types.Content(role="model", parts=said))
        answers = [types.FunctionResponse(id=c.id, name=c.name, response={"output": r}) for c, r in zip(calls, RESULTS)]
        talk.append(types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers]))
        first = {"text": self.text(said), "calls": [{"name": c.name, "arguments": c.args} for c in calls]}
        return first, self.text(self.ask(talk, **tools))

    def verdict(self):
        return self.text(self.ask("?", response_mime_type="application/json", response_json_schema=TITLED))

    def fail(self, text):
        self.client.models.generate_content(model="scripted", contents=text)


def status(client, text):
    try:
        client.fail(text)
    except client.error as error:
        return getattr(error, "status_code", None) or error.code
    return 200


kind = {"openai-chat": Chat, "openai-responses": Responses, "anthropic": Anthropic, "gemini": Gemini}[dialect]
try:
    client = kind("right")
except ImportError:
    sys.exit(3)
text = client.hi()
first, second = client.tools()
print(json.dumps({
    "text": text,
    "first": first,
    "second": second,
    "verdict": json.loads(client.verdict()),
    "error": status(client, "fail"),
    "wrong key": status(kind("wrong"), "?"),
}))
