import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Debian's path of the peers' packages. */
const LIBRARIES = process.arch === 'arm64' ? '/usr/lib/aarch64-linux-gnu' : '/usr/lib/x86_64-linux-gnu'
const PYTHON = '/usr/lib/python3/dist-packages'

export const hasAiortc = existsSync(`${PYTHON}/aiortc`)
export const hasGStreamer = [
  `${PYTHON}/gi/overrides/Gst.py`,
  `${LIBRARIES}/girepository-1.0/GstWebRTC-1.0.typelib`,
  `${LIBRARIES}/gstreamer-1.0/libgstnice.so`,
  `${LIBRARIES}/gstreamer-1.0/libgstvpx.so`,
].every((path) => existsSync(path))

export interface PythonPeer {
  /** The value that it has printed, or will print, for `field`. */
  says(field: string): Promise<unknown>
  stop(): void
}

/** A WebRTC stack that shares no code with browsers. */
export const aiortc = (...argv: string[]): PythonPeer => pythonPeer('aiortc_peer.py', argv)

/** GStreamer's WebRTC stack, with the offers of common pipelines. */
export const gstreamer = (...argv: string[]): PythonPeer => pythonPeer('gstreamer_peer.py', argv)

function pythonPeer(script: string, argv: readonly string[]): PythonPeer {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn('/usr/bin/python3', [path, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const printed = new Map<string, unknown>()
  return {
    async says(field) {
      for (;;) {
        if (printed.has(field)) return printed.get(field)
        const { done, value } = await lines.next()
        if (done === true) throw new Error(complaint)
        for (const [name, what] of Object.entries(JSON.parse(value) as object)) printed.set(name, what)
      }
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
