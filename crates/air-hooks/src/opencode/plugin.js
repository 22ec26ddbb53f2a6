// AIR in the loop of OpenCode: asks the daemon at every point and does as it is told.
// Installed and removed by `airctl`; it keeps nothing and decides nothing.
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"

// AIR's directory.
const STATE = "{{state}}"
// A JSON file with `url` and `token` of the daemon, readable by its owner alone.
const ENDPOINT = `${STATE}/hosts/run/address.json`
// What is run where the daemon is away and the critical guardrails are to decide.
const PROGRAM = "{{program}}"
// What becomes of a call that AIR cannot be asked about: "closed" refuses it, "open" lets it run, "critical"
// starts the daemon, or has a copy of the critical guardrails decide.
const AWAY = "{{away}}"
// A person may have to be asked, so this is long.
const DEADLINE_MS = 120_000

export const Air = async ({ client, directory }) => {
  const parents = new Map() // sub-agent's session -> the session that it belongs to
  const settled = new Set() // calls whose failure is known: refused here, or told already
  const prompts = new Set() // what was said here in the place of a person
  const oneshot = process.argv.includes("run")
  let version

  const ask = async (native, session) => {
    const place = JSON.parse(await readFile(ENDPOINT, "utf8"))
    const response = await fetch(new URL("/hook/opencode", place.url), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${place.token}`,
        "x-air-patience-ms": String(DEADLINE_MS - 5_000),
      },
      body: JSON.stringify({ ...native, directory, oneshot, version, parent: parents.get(session) }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const text = await response.text()
    return text.trim() === "" ? {} : JSON.parse(text)
  }

  // Asks through the program, which starts the daemon, or has the critical guardrails asked.
  const askProgram = (native, session) =>
    new Promise((resolve, reject) => {
      const child = spawn(PROGRAM, ["opencode", "--state", STATE, "--away", "critical"])
      const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS)
      let [out, err] = ["", ""]
      child.stdout.on("data", (some) => (out += some))
      child.stderr.on("data", (some) => (err += some))
      child.stdin.on("error", () => {})
      child.on("error", (error) => (clearTimeout(timer), reject(error)))
      child.on("close", (code) => {
        clearTimeout(timer)
        if (code !== 0) return reject(new Error(err.trim() || `air-hook ended with ${code}`))
        try {
          resolve({ answer: out.trim() === "" ? {} : JSON.parse(out), note: err.trim() })
        } catch (error) {
          reject(error)
        }
      })
      child.stdin.end(JSON.stringify({ ...native, directory, oneshot, version, parent: parents.get(session) }))
    })

  const decideAlone = async (native, session) => {
    const { answer, note } = await askProgram(native, session)
    if (note) {
      await client.tui.showToast({ body: { message: note, variant: "warning" } }).catch(() => {})
    }
    return answer
  }

  // Where nobody answers, a point that can refuse does so by throwing.
  const decide = async (native, session) => {
    try {
      return await ask(native, session)
    } catch (error) {
      if (AWAY === "open") return {}
      if (AWAY === "critical") {
        try {
          return await decideAlone(native, session)
        } catch (failed) {
          error = failed
        }
      }
      return { throw: `AIR cannot be asked (${error.message}), so this is refused; \`airctl doctor\` says more` }
    }
  }

  const follow = async (answer, session) => {
    if (answer.abort) await client.session.abort({ path: { id: session } })
    if (answer.prompt) {
      prompts.add(answer.prompt)
      await client.session.promptAsync({
        path: { id: session },
        body: { parts: [{ type: "text", text: answer.prompt }] },
      })
    }
  }

  const said = (parts) => parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")

  const ofInterest = (event) => {
    if (["session.created", "session.idle", "session.deleted", "session.error"].includes(event.type)) return true
    const part = event.properties?.part
    const failed = event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error"
    if (!failed || settled.has(part.callID)) return false
    settled.add(part.callID)
    return true
  }

  return {
    "chat.message": async (input, output) => {
      const ours = prompts.delete(said(output.parts))
      const answer = await decide({ hook: "chat.message", input, parts: output.parts, ours }, input.sessionID)
      await follow(answer, input.sessionID)
      if (answer.throw) {
        // The host says of an error here only that there was one.
        await client.tui.showToast({ body: { message: answer.throw, variant: "error" } }).catch(() => {})
        throw new Error(answer.throw)
      }
    },
    "tool.execute.before": async (input, output) => {
      const answer = await decide({ hook: "tool.execute.before", input, output }, input.sessionID)
      await follow(answer, input.sessionID)
      if (answer.throw) {
        settled.add(input.callID)
        throw new Error(answer.throw)
      }
      if (answer.args) {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, answer.args)
      }
    },
    "tool.execute.after": async (input, output) => {
      const shown = { title: output.title, output: output.output, metadata: output.metadata }
      const answer = await decide({ hook: "tool.execute.after", input, output: shown }, input.sessionID)
      const text = answer.output ?? answer.throw
      if (text !== undefined) output.output = text
      if (answer.append) output.output = `${output.output}\n\n${answer.append}`
      await follow(answer, input.sessionID)
    },
    "permission.ask": async (input, output) => {
      const answer = await decide({ hook: "permission.ask", input }, input.sessionID)
      if (answer.throw) output.status = "deny"
      if (answer.status) output.status = answer.status
      await follow(answer, input.sessionID)
    },
    event: async ({ event }) => {
      if (!ofInterest(event)) return
      const { info, part, sessionID } = event.properties ?? {}
      const session = sessionID ?? info?.id ?? part?.sessionID
      if (event.type === "session.created") {
        version = info?.version ?? version
        if (info?.parentID) parents.set(session, info.parentID)
      }
      try {
        await follow(await ask({ hook: "event", event }, session), session)
      } catch {
        // Nothing hangs on the answer here that could be refused.
      }
      if (event.type === "session.deleted") parents.delete(session)
      if (event.type === "session.idle" && !parents.has(session)) settled.clear()
    },
  }
}
