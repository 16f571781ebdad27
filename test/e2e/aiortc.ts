import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Where Debian puts it. */
export const AIORTC = '/usr/lib/python3/dist-packages/aiortc'

const SCRIPT = fileURLToPath(new URL('./aiortc_peer.py', import.meta.url))

/** A WebRTC stack that shares no code with browsers. `says` resolves with its first line that has the field. */
export function aiortc(...argv: string[]) {
  const child = spawn('/usr/bin/python3', [SCRIPT, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  const lines = createInterface(child.stdout)
  return {
    async says(field: string): Promise<Record<string, unknown>> {
      for await (const line of lines) {
        const said = JSON.parse(line) as Record<string, unknown>
        if (field in said) return said
      }
      throw new Error(complaint)
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
