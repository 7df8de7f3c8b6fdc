// Written by worker-ctl for the sessions of its workers: tells it what the program does.
import { spawn } from "node:child_process"

const program = "@PROGRAM@"
// The conversation of the task: the one that the program continues, else the first one.
let own = process.env.WORKER_CTL_CONVERSATION
// A program that the agent starts is not the worker's own, and its plugin keeps quiet.
const isOurs = own !== undefined
delete process.env.WORKER_CTL_CONVERSATION

// Sessions of subagents say nothing about the worker, but a person answers their questions too.
const children = new Set()
// The session of each open question.
const questions = new Map()
// Calls are chained, because processes overtake each other.
let calls = Promise.resolve()

function tell(event, session, more) {
  if (children.has(session) && !/^(permission|question)/.test(event)) return
  calls = calls.then(() => new Promise((done) => {
    const session_id = session === own ? session : undefined
    const payload = JSON.stringify({ hook_event_name: event, session_id, ...more })
    const child = spawn(program, ["hook", "opencode"], { stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", done)
    child.on("exit", done)
    child.stdin.on("error", () => {})
    child.stdin.end(payload)
  }))
}

export const Shopfloor = async () => {
  if (!isOurs) return {}
  return {
    "chat.message": async (input, output) => {
      const session = input.sessionID
      if (!children.has(session)) own ||= session
      // A prompt that waits behind a question does not answer it.
      if (questions.size > 0) return
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      tell("chat.message", session, { prompt: texts.join("") })
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
