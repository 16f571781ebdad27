import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Contender, cpuNs, ownAddress } from './contender.ts'

/** Pion as a relay: see pion.go. */

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const WORKSPACE = path('../../build/pion')
const PROGRAM = `${WORKSPACE}/relay`
/** Where Debian keeps the sources of libraries. */
const LIBRARIES = '/usr/share/gocode'
const DEBIAN = 'golang-go golang-github-pion-webrtc.v3-dev'

/** Builds the relay. Returns what is missing, or why it does not compile; null: it is there. */
export function buildPion(): string | null {
  const hasLibrary = existsSync(`${LIBRARIES}/src/github.com/pion/webrtc`)
  if (!hasLibrary || spawnSync('go', ['version']).status !== 0) return `apt-get install ${DEBIAN}`
  // Without modules, Go finds `webrtc/v3` only for a source in its own workspace that has a go.mod.
  const cwd = `${WORKSPACE}/src/relay`
  mkdirSync(cwd, { recursive: true })
  cpSync(path('pion.go'), `${cwd}/main.go`)
  writeFileSync(`${cwd}/go.mod`, 'module relay\n')
  const env = { ...process.env, GOPATH: `${WORKSPACE}:${LIBRARIES}`, GO111MODULE: 'off' }
  const { status, stderr } = spawnSync('go', ['build', '-o', PROGRAM, '.'], { cwd, env, encoding: 'utf8' })
  return status === 0 ? null : stderr
}

export async function startPion(): Promise<Contender> {
  const child = spawn(PROGRAM, [ownAddress()], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  const ask = async (kind: 'publish' | 'view', offer: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/${kind}`, { method: 'POST', body: offer })
    const answer = await response.text()
    if (!response.ok) throw new Error(answer)
    return answer
  }
  return {
    name: 'Pion',
    publish: (offer) => ask('publish', offer),
    view: async (viewer) => viewer.accept(await ask('view', await viewer.offer())),
    cpuNs: () => cpuNs(child.pid ?? 0),
    stop: async () => {
      const gone = once(child, 'exit')
      child.stdin.end()
      await gone
    },
  }
}
