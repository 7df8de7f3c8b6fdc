// Written by worker-ctl for the sessions of its workers: tells it what the program does, and takes texts from it.
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { createConnection, createServer } from "node:net"

const program = "@PROGRAM@"
// How long a text may take until it is a prompt, and a turn until it is aborted, in milliseconds.
const PATIENCE = 3000
// Sessions of subagents say nothing about the worker, but a person answers their questions too.
const children = new Set()
// The sessions that are at work.
const busy = new Set()
// Those who wait for something, each a function that gets what happens.
const waiting = new Set()
// Calls are chained, because processes overtake each other.
let last = Promise.resolve()

function tell(event, session, more) {
  const isChild = children.has(session)
  if (isChild && !/^(permission|question)/.test(event)) return
  const payload = JSON.stringify({ hook_event_name: event, session_id: isChild ? undefined : session, ...more })
  last = last.then(() => new Promise((done) => {
    const child = spawn(program, ["hook", "opencode"], { stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", done)
    child.on("exit", done)
    child.stdin.on("error", () => {})
    child.stdin.end(payload)
  }))
}

// Resolves to true once `holds` is true of something that happens, or to false when the time is up.
function until(holds) {
  return new Promise((resolve) => {
    const end = (result) => {
      clearTimeout(timer)
      waiting.delete(look)
      resolve(result)
    }
    const look = (happened) => holds(happened) && end(true)
    const timer = setTimeout(() => end(false), PATIENCE)
    waiting.add(look)
    look({})
  })
}

function happen(happened) {
  for (const look of [...waiting]) look(happened)
}

// Submits a text as a prompt, in the conversation or in a new one. Returns whether it has arrived.
async function submit(client, { text, conversation, settings, pid }) {
  const isOurs = pid === process.pid || pid === process.ppid
  if (!isOurs || settings !== process.env.WORKER_CTL_SETTINGS) return false
  const arrival = until(({ prompt, session }) => prompt === text && session === (conversation ?? session))
  if (conversation) {
    // Past the input line, which may hold a draft of a person.
    const { data: messages } = await client.session.messages({ path: { id: conversation } })
    const { agent, model } = messages.findLast((message) => message.info.role === "user").info
    await client.session.promptAsync({
      path: { id: conversation },
      body: { agent, model, parts: [{ type: "text", text }] },
    })
    return arrival
  }
  // The turn of an earlier task must not go on beside this one.
  for (const session of busy) await client.session.abort({ path: { id: session } })
  if (!(await until(() => busy.size === 0))) return false
  await client.tui.executeCommand({ body: { command: "session_new" } })
  await client.tui.clearPrompt()
  await client.tui.appendPrompt({ body: { text } })
  await client.tui.submitPrompt()
  if (await arrival) return true
  await client.tui.clearPrompt()
  return false
}

function takeTexts(client) {
  const path = process.env.WORKER_CTL_SOCKET
  if (!path) return
  const server = createServer((socket) => {
    let line = ""
    socket.setEncoding("utf8")
    socket.on("error", () => {})
    socket.on("data", async (data) => {
      line += data
      if (!line.endsWith("\n")) return
      const has_arrived = await submit(client, JSON.parse(line)).catch(() => false)
      socket.end(JSON.stringify({ has_arrived }) + "\n")
    })
  })
  server.on("error", () => {})
  server.unref()
  // Nobody answers at a socket whose program was killed.
  const other = createConnection(path)
  other.on("connect", () => other.destroy())
  other.on("error", () => {
    rmSync(path, { force: true })
    server.listen(path)
  })
}

export const Shopfloor = async ({ client }) => {
  takeTexts(client)
  return {
    "chat.message": async (input, output) => {
      const prompt = output.parts.map((part) => part.text ?? "").join("")
      happen({ prompt, session: input.sessionID })
      tell("chat.message", input.sessionID, { prompt })
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
          const command = about.metadata?.command ?? (about.patterns ?? []).join(" ")
          tell(event.type, about.sessionID, { tool_name: about.permission, tool_use_id: about.id, message: command })
          break
        }
        case "question.asked": {
          const message = (about.questions ?? []).map((one) => one.question).join(" ")
          tell(event.type, about.sessionID, { message, tool_use_id: about.id })
          break
        }
        case "permission.replied":
        case "question.replied":
        case "question.rejected":
          tell(event.type, about.sessionID, { tool_use_id: about.requestID })
          break
        case "session.idle":
        case "session.error":
          tell(event.type, about.sessionID, {})
      }
    },
  }
}
