import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countBytes, noteTracks } from '../../src/commands/sessions/count.ts'
import type { TrackInfo } from '../../src/media/frame.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { ownPort } from '../support/ownPort.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish, view } from '../support/testNode.ts'
import { eventually } from '../support/until.ts'
import { findProgram } from './programs.ts'

const prometheus = findProgram('prometheus', ['prometheus'])
const packaging = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../packaging/${path}`, import.meta.url)), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'sluice-grafana-'))

/** The queries of all panels, as Grafana sends them for all instances. */
const queries = (): string[] => {
  const dashboard = JSON.parse(packaging('grafana/sluice.json')) as { panels: { targets?: { expr: string }[] }[] }
  const texts = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  return texts.map((expr) => expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s'))
}

let sluice: RunningApp
const engine = new ScriptedEngine()
beforeAll(async () => {
  sluice = await runApp({ flags: { rtmp: { enabled: false } }, engine })
})
afterAll(async () => {
  await sluice.close()
  rmSync(folder, { recursive: true })
})

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array(0) }

/** A broadcast with two viewers, of whom the media process says something each time. */
async function makeTraffic(): Promise<() => void> {
  const { ctx } = sluice.app
  const at = { ...sluice, ctx }
  const { token } = await makeToken(at, 'publish')
  const { session } = await publish(at, { presented: token })
  const viewers = [await view(at), await view(at)]
  await publish(at, { presented: 'wrong' }).catch(() => undefined)
  let bytes = 0
  return () => {
    bytes += 1000
    for (const { id } of viewers.map((viewer) => viewer.session)) countBytes(ctx, id, { bytesIn: 0, bytesOut: bytes })
    const source = { keyframeMs: 2000, packetLoss: 0.01 }
    countBytes(ctx, session.id, { bytesIn: bytes, bytesOut: 0, frames: bytes / 100, source })
    noteTracks(ctx, session.id, [VIDEO])
    const room = `${sluice.accountId}/${session.streamName}`
    const said = { room, nacks: 1, keyframeRequests: 1, lossShare: 0.1, roundTripMs: 50, firstPacketsMs: [80] }
    engine.emit({ kind: 'feedback', rooms: [said] })
    engine.emit({ kind: 'waits', process: 0, meanMs: 1, mostMs: 2, late: 0, load: 0.3 })
    ctx.deliveries.add('delivered')
    ctx.sessions.counts.onCut?.(20)
    ctx.sessions.counts.onLastCut?.(30)
  }
}

async function startPrometheus(): Promise<{ base: string; stop: () => Promise<void> }> {
  const port = await ownPort()
  const config = join(folder, 'prometheus.yml')
  const target = new URL(sluice.base).host
  writeFileSync(
    config,
    `scrape_configs: [{ job_name: sluice, scrape_interval: 1s, static_configs: [{ targets: ["${target}"] }] }]`,
  )
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`]
  const child = spawn(prometheus?.path ?? '', [...args, `--web.listen-address=127.0.0.1:${port}`], {
    env: prometheus?.env,
    stdio: 'ignore',
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill()
    await ended
  }
  return { base: `http://127.0.0.1:${port}`, stop }
}

/** The number of series that a query finds; -1 when Prometheus is not there yet, or refuses the query. */
async function found(base: string, query: string): Promise<number> {
  const answer = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(query)}`).catch(() => null)
  if (answer?.ok !== true) return -1
  const body = (await answer.json()) as { data: { result: { value: [number, string] }[] } }
  return body.data.result.filter(({ value }) => value[1] !== 'NaN').length
}

test.skipIf(prometheus === null)('Prometheus has data for each query of the dashboard', async () => {
  const move = await makeTraffic()
  const { base, stop } = await startPrometheus()
  try {
    const left = new Set(queries())
    expect(left.size).toBeGreaterThan(25)
    await eventually(async () => {
      move()
      for (const query of left) if ((await found(base, query)) > 0) left.delete(query)
      expect([...left]).toEqual([])
    })
  } finally {
    await stop()
  }
})

test('every metric of the dashboard and of the alerts is one of the server', async () => {
  const { text } = await sluice.call('GET', '/metrics')
  const there = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  const used = [...`${queries().join('\n')} ${packaging('prometheus/sluice.rules.yaml')}`.matchAll(/\bsluice_\w+/g)]
  const names = new Set(used.map(([name]) => name.replace(/_bucket$/, '')))
  // They are there with TLS alone.
  for (const name of ['sluice_certificate_expires_seconds', 'sluice_certificate_lifetime_seconds']) names.delete(name)
  expect([...names].filter((name) => !there.includes(name))).toEqual([])
})
