// Written by worker-ctl for the sessions of its workers: tells it what the program does, and takes texts from it.
import { spawn } from "node:child_process"
import { renameSync } from "node:fs"
import { createServer } from "node:net"

const program = "@PROGRAM@"
// How long a text may take until it is a prompt, and a turn until it is aborted, in milliseconds.
const PATIENCE = 3000
// How long a request may take as a whole.
const LIMIT = 12000
// The longest request, in characters.
const LONGEST = 64 << 20

const { WORKER_CTL_SOCKET: path, WORKER_CTL_SETTINGS: settings } = process.env
// The conversation of the task: the one that the program continues, the first one, or the one that a task of worker-ctl
// has begun.
let own = process.env.WORKER_CTL_CONVERSATION
// A program that the agent starts is not the worker's own, and its plugin keeps quiet.
for (const name of ["SOCKET", "SETTINGS", "CONVERSATION"]) delete process.env[`WORKER_CTL_${name}`]

// Sessions of subagents say nothing about the worker, but a person answers their questions too.
const children = new Set()
// The sessions at work, and those of earlier tasks.
const busy = new Set()
const earlier = new Set()
// The session of each open question.
const questions = new Map()
// The last prompt of each session.
const last = new Map()
// What is awaited, each a function that gets what happens.
const waiting = new Set()
// Calls are chained, because processes overtake each other, and so are requests.
let calls = Promise.resolve()
let requests = Promise.resolve()
let isListening = false

function tell(event, session, more) {
  const isChild = children.has(session)
  if (isChild && !/^(permission|question)/.test(event)) return
  calls = calls.then(() => new Promise((done) => {
    // An earlier report may have taken its time.
    if (earlier.has(session) && !/^(permission|question)/.test(event)) return done()
    const session_id = session === own ? session : undefined
    const payload = JSON.stringify({ hook_event_name: event, session_id, ...more })
    const child = spawn(program, ["hook", "opencode"], { stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", done)
    child.on("exit", done)
    child.stdin.on("error", () => {})
    child.stdin.end(payload)
  }))
}

// Resolves to what `find` finds in something that happens, or to undefined when the time is up.
function until(find) {
  return new Promise((resolve) => {
    const end = (found) => {
      clearTimeout(timer)
      waiting.delete(look)
      resolve(found)
    }
    const look = (happened) => {
      const found = find(happened)
      if (found) end(found)
    }
    const timer = setTimeout(() => end(undefined), PATIENCE)
    waiting.add(look)
    look({})
  })
}

function happen(happened) {
  for (const look of [...waiting]) look(happened)
}

// Begins a conversation with a task. The turn of an earlier task must not go on beside it.
async function begin(client, text) {
  for (const session of busy) await client.session.abort({ path: { id: session } })
  if (!(await until(() => busy.size === 0))) return { result: "other" }
  if (own) {
    const like = await lastPrompt(client, own)
    const { data: session } = await client.session.create({ body: {} })
    if (!like || !session) return { result: "other" }
    earlier.add(own)
    await client.tui.publish({ body: { type: "tui.session.select", properties: { sessionID: session.id } } })
    return prompt(client, text, session.id, like)
  }
  // Only the screen knows which agent and which model a person chose for the first prompt.
  await client.tui.clearPrompt()
  await client.tui.appendPrompt({ body: { text } })
  const arrival = until(({ session, texts }) => {
    if (!session || children.has(session)) return undefined
    // Another plugin may change prompts.
    return { result: texts.includes(text) ? "arrived" : "sent", conversation: session }
  })
  await client.tui.submitPrompt()
  const arrived = await arrival
  if (!arrived) throw new Error("nobody knows whether the text will arrive")
  return arrived
}

// The last prompt of a conversation, which tells its agent and its model.
async function lastPrompt(client, conversation) {
  if (!last.has(conversation)) {
    const { data } = await client.session.messages({ path: { id: conversation } })
    const message = data?.findLast((message) => message.info.role === "user")
    if (message) last.set(conversation, message.info)
  }
  return last.get(conversation)
}

// Adds a prompt to a conversation, past the input line, which may hold a draft of a person.
async function prompt(client, text, conversation, { agent, model }) {
  const arrival = until(({ session, texts }) => session === conversation && texts.includes(text))
  const body = { agent, model, parts: [{ type: "text", text }] }
  own = conversation
  const { error } = await client.session.promptAsync({ path: { id: conversation }, body })
  if (error) return { result: "gone" }
  return { result: (await arrival) ? "arrived" : "sent", conversation }
}

async function answer(client, line) {
  const request = JSON.parse(line)
  const isOurs = request.pid === process.pid || request.pid === process.ppid
  if (!isOurs) return { result: "other" }
  if (questions.size > 0 && !request.force) return { result: "asks" }
  if (request.conversation) {
    const like = await lastPrompt(client, request.conversation)
    return like ? prompt(client, request.text, request.conversation, like) : { result: "gone" }
  }
  // A task meets the settings of the day.
  if (request.settings !== settings) return { result: "other" }
  return begin(client, request.text)
}

function takeTexts(client) {
  if (isListening) return
  isListening = true
  const server = createServer((socket) => {
    let line = ""
    let isRead = false
    socket.setEncoding("utf8")
    socket.setTimeout(LIMIT, () => socket.destroy())
    socket.on("error", () => {})
    socket.on("data", (data) => {
      if (isRead) return
      line += data
      const end = line.indexOf("\n")
      if (end < 0 && line.length > LONGEST) socket.destroy()
      if (end < 0) return
      isRead = true
      requests = requests.then(async () => {
        // Whoever asked may have gone while another request was at work.
        if (socket.destroyed) return
        // A call that never returns must not hold up the requests that follow.
        const late = new Promise((_, fail) => setTimeout(fail, LIMIT))
        const result = await Promise.race([answer(client, line.slice(0, end)), late])
        socket.end(JSON.stringify(result) + "\n")
      }).catch(() => socket.destroy())
    })
  })
  server.on("error", () => {})
  server.unref()
  // The name goes to the program that came last. An earlier one may not have ended yet.
  const first = `${path}.${process.pid}`
  server.listen(first, () => {
    try {
      renameSync(first, path)
    } catch {}
  })
}

export const Shopfloor = async ({ client }) => {
  if (!path) return {}
  takeTexts(client)
  return {
    "chat.message": async (input, output) => {
      const session = input.sessionID
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      happen({ session, texts })
      earlier.delete(session)
      last.set(session, output.message)
      if (!children.has(session)) own ??= session
      // A prompt that waits behind a question does not answer it.
      if (questions.size === 0) tell("chat.message", session, { prompt: texts.join("") })
    },
    "tool.execute.before": async (input) => {
      tell("tool.execute.before", input.sessionID, { tool_use_id: input.callID })
    },
    event: async ({ event }) => {
      const about = event.properties
      switch (event.type) {
        case "session.created":
          if (about.info?.parentID) children.add(about.info.id)
          break
        case "session.status":
          if (about.status?.type === "idle") busy.delete(about.sessionID)
          else busy.add(about.sessionID)
          happen({})
          break
        case "permission.asked": {
          questions.set(about.id, about.sessionID)
          const command = about.metadata?.command ?? (about.patterns ?? []).join(" ")
          tell(event.type, about.sessionID, { tool_name: about.permission, tool_use_id: about.id, message: command })
          break
        }
        case "question.asked": {
          questions.set(about.id, about.sessionID)
          const message = (about.questions ?? []).map((one) => one.question).join(" ")
          tell(event.type, about.sessionID, { message, tool_use_id: about.id })
          break
        }
        case "permission.replied":
        case "question.replied":
        case "question.rejected":
          questions.delete(about.requestID)
          tell(event.type, about.sessionID, { tool_use_id: about.requestID })
          break
        case "session.error":
          tell(event.type, about.sessionID, {})
          break
        case "session.idle":
          for (const [id, session] of questions) if (session === about.sessionID) questions.delete(id)
          tell(event.type, about.sessionID, {})
      }
    },
  }
}
