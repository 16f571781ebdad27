import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Contender, cpuNs } from './contender.ts'

/** Janus with its videoroom plugin and its own configuration, over its HTTP interface. */

const PROGRAM = '/usr/bin/janus'
const PORT = 34_288
const BASE = `http://127.0.0.1:${PORT}/janus`
const ROOM = 77
const START_MS = 10_000

export const hasJanus = (): boolean => existsSync(PROGRAM)

export async function startJanus(): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-janus-'))
  const files = {
    'janus.jcfg': `general: { debug_level = 2 session_timeout = 0 }
media: { rtp_port_range = "34300-35300" }
plugins: { disable = "libjanus_audiobridge.so,libjanus_echotest.so,libjanus_recordplay.so,libjanus_sip.so,libjanus_nosip.so,\\
libjanus_streaming.so,libjanus_textroom.so,libjanus_videocall.so,libjanus_voicemail.so,libjanus_duktape.so,libjanus_lua.so" }
transports: { disable = "libjanus_websockets.so,libjanus_pfunix.so,libjanus_mqtt.so,libjanus_rabbitmq.so,libjanus_nanomsg.so" }
`.replaceAll('\\\n', ''),
    'janus.transport.http.jcfg': `general: { base_path = "/janus" http = true port = ${PORT} interface = "lo" }\n`,
    'janus.plugin.videoroom.jcfg': `room-${ROOM}: { publishers = 2 bitrate = 0 videocodec = "vp8" audiocodec = "opus" }\n`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const child = spawn(PROGRAM, ['--configs-folder', folder, '--disable-colors'], { stdio: 'ignore' })
  await reachable(child)
  const publisher = await Handle.attach()
  const feed = await publisher.joinAsPublisher()
  return {
    name: 'Janus videoroom',
    publish: (offer) => publisher.publish(offer),
    view: async (viewer) => {
      const handle = await Handle.attach()
      const offer = await handle.subscribe(feed)
      await handle.start(await viewer.answer(offer))
    },
    cpuNs: () => cpuNs(child.pid ?? 0),
    stop: async () => {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function reachable(child: ChildProcess): Promise<void> {
  for (const until = performance.now() + START_MS; performance.now() < until; ) {
    if (child.exitCode !== null) throw new Error('Janus did not start')
    const answer = await fetch(`${BASE}/info`).catch(() => null)
    if (answer?.ok === true) return
    await sleep(100)
  }
  throw new Error('Janus did not answer in time')
}

interface Message {
  readonly janus: string
  readonly data?: { readonly id: number }
  readonly jsep?: { readonly sdp: string }
  readonly plugindata?: { readonly data: { readonly id?: number; readonly error?: string } }
}

/** One peer: a session with one handle, so that it gets only its own events. */
class Handle {
  readonly #session: string
  readonly #path: string

  private constructor(session: string, path: string) {
    this.#session = session
    this.#path = path
  }

  static async attach(): Promise<Handle> {
    const session = `${BASE}/${(await post(BASE, { janus: 'create' })).data?.id}`
    const { data } = await post(session, { janus: 'attach', plugin: 'janus.plugin.videoroom' })
    return new Handle(session, `${session}/${data?.id}`)
  }

  async joinAsPublisher(): Promise<number> {
    const { plugindata } = await this.#ask({ request: 'join', ptype: 'publisher', room: ROOM })
    return plugindata?.data.id ?? 0
  }

  async publish(offer: string): Promise<string> {
    const { jsep } = await this.#ask({ request: 'publish' }, { type: 'offer', sdp: offer })
    return jsep?.sdp ?? ''
  }

  async subscribe(feed: number): Promise<string> {
    const { jsep } = await this.#ask({ request: 'join', ptype: 'subscriber', room: ROOM, feed })
    return jsep?.sdp ?? ''
  }

  async start(answer: string): Promise<void> {
    await this.#ask({ request: 'start' }, { type: 'answer', sdp: answer })
  }

  /** Sends a message to the plugin and waits for its reply; ignores other events. */
  async #ask(body: object, jsep?: object): Promise<Message> {
    await post(this.#path, { janus: 'message', body, ...(jsep === undefined ? {} : { jsep }) })
    for (let tries = 0; tries < 20; tries++) {
      const event = (await (await fetch(`${this.#session}?maxev=1`)).json()) as Message | Message[]
      const message = Array.isArray(event) ? event[0] : event
      if (message?.plugindata?.data.error !== undefined) throw new Error(message.plugindata.data.error)
      if (message?.janus === 'event') return message
    }
    throw new Error('Janus did not answer')
  }
}

async function post(url: string, body: object): Promise<Message> {
  const text = JSON.stringify({ ...body, transaction: 'bench' })
  return (await (await fetch(url, { method: 'POST', body: text })).json()) as Message
}
