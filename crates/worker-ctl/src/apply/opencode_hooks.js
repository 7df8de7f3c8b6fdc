// Written by worker-ctl for the sessions of its workers: tells it what the program does.
import { spawn } from "node:child_process"

const program = "@PROGRAM@"
// Sessions of subagents say nothing about the worker, but a person answers their questions too.
const children = new Set()
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

export const Shopfloor = async () => ({
  "chat.message": async (input, output) => {
    tell("chat.message", input.sessionID, { prompt: output.parts.map((part) => part.text ?? "").join("") })
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
})
