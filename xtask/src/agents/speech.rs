//! The four ways in which programs talk to a model: Anthropic Messages, OpenAI Responses, OpenAI Chat, Gemini.

use serde_json::{Value, json};

/// A way to talk to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    Messages,
    Responses,
    Chat,
    Gemini,
}

/// What a program asks the model.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The texts of a person, oldest first.
    pub prompts: Vec<String>,
    /// How many tools have answered since the last of them.
    pub results: usize,
    /// What the tools answered.
    pub outputs: Vec<String>,
    pub tools: Vec<String>,
    /// Whether the answer is to come piece by piece.
    pub is_streamed: bool,
    /// Everything else that the model gets to read.
    pub context: String,
}

/// What the model says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// A tool to call, with its arguments.
    pub call: Option<(String, Value)>,
}

/// An answer in the form of an api.
pub enum Reply {
    Whole(Value),
    Stream(Vec<(Option<String>, String)>),
}

/// The api of a path, unless the path asks for something else than an answer.
pub fn api(path: &str) -> Option<Api> {
    let ends = [
        ("/v1/messages", Api::Messages),
        ("/responses", Api::Responses),
        ("/chat/completions", Api::Chat),
        (":generateContent", Api::Gemini),
        (":streamGenerateContent", Api::Gemini),
    ];
    ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, api)| api)
}

/// The answer to anything else that a program asks.
pub fn other(path: &str) -> Value {
    match path {
        _ if path.ends_with("/models") => json!({ "object": "list", "data": [{ "id": "stub", "object": "model" }] }),
        _ if path.ends_with("count_tokens") => json!({ "input_tokens": 10 }),
        _ if path.ends_with(":countTokens") => json!({ "totalTokens": 10 }),
        _ => json!({}),
    }
}

/// Something in a conversation.
enum Item {
    Person(String),
    Tool(String),
    Other(String),
}

pub fn read(api: Api, body: &Value) -> Turn {
    let items = match api {
        Api::Messages => messages(body),
        Api::Responses => responses(body),
        Api::Chat => chat(body),
        Api::Gemini => gemini(body),
    };
    let tools = tools(api, body);
    let mut turn = Turn { tools, is_streamed: body["stream"] == true, ..Turn::default() };
    for item in items {
        match item {
            Item::Person(text) if !is_added(&text) => {
                turn.prompts.push(text);
                turn.results = 0;
            }
            Item::Tool(output) => {
                turn.outputs.push(output);
                turn.results += 1;
            }
            Item::Person(text) | Item::Other(text) => turn.context.push_str(&(text + "\n")),
        }
    }
    turn
}

/// Whether a program added this to what a person said.
fn is_added(text: &str) -> bool {
    let added = [
        "<system-reminder>",
        "<environment_context>",
        "<user_instructions>",
        "<permissions instructions>",
        "<command-name>",
        "<local-command",
        "<session_context>",
        "<INSTRUCTIONS>",
        "<collaboration_mode>",
        "<skills_instructions>",
        "<multi_agent",
        "<apps_instructions>",
        "<plugins_instructions>",
        "<turn_aborted>",
        "<hook_context>",
        "# AGENTS.md",
    ];
    added.iter().any(|begin| text.trim_start().starts_with(begin))
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

/// The texts of a content that is a text or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            let text = |part: &Value| part.as_str().or_else(|| part["text"].as_str()).map(str::to_owned);
            parts.iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    }
}

fn said(role: &str, text: String) -> Item {
    if role == "user" { Item::Person(text) } else { Item::Other(text) }
}

fn messages(body: &Value) -> Vec<Item> {
    let mut items: Vec<Item> = texts(&body["system"]).into_iter().map(Item::Other).collect();
    for message in list(body, "messages") {
        let role = message["role"].as_str().unwrap_or_default();
        if let Some(text) = message["content"].as_str() {
            items.push(said(role, text.to_owned()));
        }
        // What stands beside a tool's answer is the program's.
        let has_answers = list(message, "content").any(|part| part["type"] == "tool_result");
        let role = if has_answers { "program" } else { role };
        for part in list(message, "content") {
            match part["type"].as_str() {
                Some("text") => items.push(said(role, part["text"].as_str().unwrap_or_default().to_owned())),
                Some("tool_result") => items.push(Item::Tool(part["content"].to_string())),
                _ => {}
            }
        }
    }
    items
}

fn responses(body: &Value) -> Vec<Item> {
    let mut items: Vec<Item> = texts(&body["instructions"]).into_iter().map(Item::Other).collect();
    if let Some(text) = body["input"].as_str() {
        items.push(Item::Person(text.to_owned()));
    }
    for item in list(body, "input") {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "message" {
            let role = item["role"].as_str().unwrap_or_default();
            items.extend(texts(&item["content"]).into_iter().map(|text| said(role, text)));
        } else if kind.ends_with("_output") {
            items.push(Item::Tool(item["output"].to_string()));
        }
    }
    items
}

fn chat(body: &Value) -> Vec<Item> {
    let mut items = Vec::new();
    for message in list(body, "messages") {
        let texts = texts(&message["content"]);
        match message["role"].as_str().unwrap_or_default() {
            "tool" => items.push(Item::Tool(texts.join("\n"))),
            role => items.extend(texts.into_iter().map(|text| said(role, text))),
        }
    }
    items
}

fn gemini(body: &Value) -> Vec<Item> {
    let mut items: Vec<Item> = texts(&body["systemInstruction"]["parts"]).into_iter().map(Item::Other).collect();
    for content in list(body, "contents") {
        let parts = || list(content, "parts");
        items.extend(
            parts().filter_map(|part| part.get("functionResponse")).map(|answer| Item::Tool(answer.to_string())),
        );
        let role = content["role"].as_str().unwrap_or("user");
        let texts = parts().filter_map(|part| part["text"].as_str());
        let (added, own): (Vec<&str>, Vec<&str>) = texts.partition(|text| role == "user" && is_added(text));
        items.extend(added.into_iter().map(|text| said(role, text.to_owned())));
        // Files that a prompt names with `@` are parts of their own.
        if !own.is_empty() {
            items.push(said(role, own.concat()));
        }
    }
    items
}

fn tools(api: Api, body: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for tool in list(body, "tools") {
        let name = |value: &Value| value["name"].as_str().map(str::to_owned);
        match api {
            Api::Chat => names.extend(name(&tool["function"])),
            Api::Gemini => names.extend(list(tool, "functionDeclarations").filter_map(name)),
            Api::Messages | Api::Responses => {
                let own = name(tool).or_else(|| tool["type"].as_str().map(str::to_owned));
                // A namespace has tools of its own.
                let space = own.clone().unwrap_or_default();
                names.extend(list(tool, "tools").filter_map(name).map(|inner| format!("{space}/{inner}")));
                names.extend(own);
            }
        }
    }
    names
}

/// An answer in the form that a request wants, if it wants a certain one: gemini asks such questions by the way.
pub fn example(api: Api, body: &Value) -> Option<String> {
    let config = &body["generationConfig"];
    let is_wanted = config["responseMimeType"] == "application/json" || config.get("responseJsonSchema").is_some();
    (api == Api::Gemini && is_wanted).then(|| {
        let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
        value_of(schema.unwrap_or(&Value::Null)).to_string()
    })
}

/// Some value that a JSON schema takes.
fn value_of(schema: &Value) -> Value {
    if let Some(first) = list(schema, "enum").next() {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("object").to_lowercase().as_str() {
        "string" => json!("none"),
        "boolean" => json!(false),
        "array" => json!([]),
        "number" | "integer" => json!(1),
        _ => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            Value::Object(properties.map(|(key, inner)| (key.clone(), value_of(inner))).collect())
        }
    }
}

pub fn say(api: Api, path: &str, body: &Value, answer: &Answer) -> Reply {
    let is_streamed = body["stream"] == true || path.ends_with(":streamGenerateContent");
    match api {
        Api::Messages => say_messages(body, answer, is_streamed),
        Api::Responses => say_responses(body, answer, is_streamed),
        Api::Chat => say_chat(body, answer, is_streamed),
        Api::Gemini => say_gemini(answer, is_streamed),
    }
}

/// A name that no other answer has.
fn unique(prefix: &str) -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{prefix}_{:024}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn named(events: Vec<Value>) -> Reply {
    let name = |event: &Value| event["type"].as_str().map(str::to_owned);
    Reply::Stream(events.into_iter().map(|event| (name(&event), event.to_string())).collect())
}

fn say_messages(body: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let mut blocks = Vec::new();
    if !answer.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": answer.text }));
    }
    if let Some((tool, input)) = &answer.call {
        blocks.push(json!({ "type": "tool_use", "id": unique("toolu"), "name": tool, "input": input }));
    }
    let reason = if answer.call.is_some() { "tool_use" } else { "end_turn" };
    let usage = json!({ "input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0 });
    let message = json!({ "id": unique("msg"), "type": "message", "role": "assistant", "model": body["model"],
        "content": blocks, "stop_reason": reason, "stop_sequence": null, "usage": usage });
    if !is_streamed {
        return Reply::Whole(message);
    }
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    for (index, block) in blocks.iter().enumerate() {
        let (mut begun, delta) = (
            block.clone(),
            match block["type"].as_str() {
                Some("text") => json!({ "type": "text_delta", "text": block["text"] }),
                _ => json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
            },
        );
        if block["type"] == "text" {
            begun["text"] = json!("");
        } else {
            begun["input"] = json!({});
        }
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 5 } }));
    events.push(json!({ "type": "message_stop" }));
    named(events)
}

fn say_responses(body: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let mut output = Vec::new();
    if !answer.text.is_empty() {
        let part = json!({ "type": "output_text", "text": answer.text, "annotations": [] });
        output.push(json!({ "type": "message", "id": unique("msg"), "role": "assistant", "status": "completed",
            "content": [part] }));
    }
    if let Some((tool, arguments)) = &answer.call {
        let mut call = json!({ "type": "function_call", "id": unique("fc"), "status": "completed",
            "call_id": unique("call"), "name": tool, "arguments": arguments.to_string() });
        if let Some((space, name)) = tool.split_once('/') {
            call["name"] = json!(name);
            call["namespace"] = json!(space);
        }
        output.push(call);
    }
    let usage = json!({ "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 5,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15 });
    let done = json!({ "id": unique("resp"), "object": "response", "created_at": 1, "status": "completed",
        "model": body["model"], "output": output, "usage": usage, "error": null, "incomplete_details": null,
        "tools": [], "parallel_tool_calls": false });
    if !is_streamed {
        return Reply::Whole(done);
    }
    let mut begun = done.clone();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    let mut events = vec![json!({ "type": "response.created", "response": begun })];
    for (index, item) in output.iter().enumerate() {
        let is_text = item["type"] == "message";
        let mut empty = item.clone();
        empty["status"] = json!("in_progress");
        empty[if is_text { "content" } else { "arguments" }] = if is_text { json!([]) } else { json!("") };
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": empty }));
        let about = |kind: &str, mut more: Value| {
            more["type"] = json!(kind);
            (more["item_id"], more["output_index"]) = (item["id"].clone(), json!(index));
            more
        };
        if is_text {
            let part = item["content"][0].clone();
            let mut blank = part.clone();
            blank["text"] = json!("");
            events.push(about("response.content_part.added", json!({ "content_index": 0, "part": blank })));
            events.push(about("response.output_text.delta", json!({ "content_index": 0, "delta": part["text"] })));
            events.push(about("response.output_text.done", json!({ "content_index": 0, "text": part["text"] })));
            events.push(about("response.content_part.done", json!({ "content_index": 0, "part": part })));
        } else {
            let arguments = &item["arguments"];
            events.push(about("response.function_call_arguments.delta", json!({ "delta": arguments })));
            events.push(about("response.function_call_arguments.done", json!({ "arguments": arguments })));
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    events.push(json!({ "type": "response.completed", "response": done }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    named(events)
}

fn say_chat(body: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let calls = answer.call.as_ref().map(|(tool, arguments)| {
        json!([{ "index": 0, "id": unique("call"), "type": "function",
            "function": { "name": tool, "arguments": arguments.to_string() } }])
    });
    let reason = if calls.is_some() { "tool_calls" } else { "stop" };
    let id = unique("chatcmpl");
    let base = |object: &str, choices: Value| json!({ "id": id, "created": 1, "model": body["model"], "object": object, "choices": choices });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    if !is_streamed {
        let mut message = json!({ "role": "assistant", "content": answer.text });
        if let Some(calls) = calls {
            message["tool_calls"] = calls;
        }
        let mut whole = base("chat.completion", json!([{ "index": 0, "message": message, "finish_reason": reason }]));
        whole["usage"] = usage;
        return Reply::Whole(whole);
    }
    let piece = |delta: Value, reason: Value| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        base("chat.completion.chunk", choices)
    };
    let mut events = vec![piece(json!({ "role": "assistant", "content": "" }), Value::Null)];
    if !answer.text.is_empty() {
        events.push(piece(json!({ "content": answer.text }), Value::Null));
    }
    events.extend(calls.map(|calls| piece(json!({ "tool_calls": calls }), Value::Null)));
    events.push(piece(json!({}), json!(reason)));
    let mut last = base("chat.completion.chunk", json!([]));
    last["usage"] = usage;
    events.push(last);
    let lines = events.into_iter().map(|event| event.to_string()).chain(["[DONE]".to_owned()]);
    Reply::Stream(lines.map(|line| (None, line)).collect())
}

fn say_gemini(answer: &Answer, is_streamed: bool) -> Reply {
    let mut parts = Vec::new();
    if !answer.text.is_empty() {
        parts.push(json!({ "text": answer.text }));
    }
    if let Some((tool, arguments)) = &answer.call {
        let call = json!({ "id": unique("call"), "name": tool, "args": arguments });
        parts.push(json!({ "functionCall": call, "thoughtSignature": "c2tpcA==" }));
    }
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 });
    let content = json!({ "role": "model", "parts": parts });
    let value = json!({ "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": usage, "modelVersion": "stub", "responseId": unique("answer") });
    match is_streamed {
        true => Reply::Stream(vec![(None, value.to_string())]),
        false => Reply::Whole(value),
    }
}
