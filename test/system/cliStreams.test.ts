import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { takePlayerReport } from '../../src/commands/sessions/playerReport.ts'
import { run } from '../cli/fakeHost.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

let clock: ManualClock
let node: TestNode
/** A process on the same database that serves nothing. */
let beside: TestNode
let publisher: Connection
beforeEach(async () => {
  clock = new ManualClock()
  node = await startTestNode({ clock })
  beside = await startTestNode({ url: node.url, clock })
  const { token } = await makeToken(node, 'publish')
  publisher = await publish(node, { presented: token })
  await publish(node, { presented: token, streamName: '東京' })
  for (const ip of ['192.0.2.7', '192.0.2.8']) await view(node, { ip, protocol: 'hls' })
})
afterEach(async () => {
  await beside.close()
  await node.close()
})

const cli = (argv: string, columns?: number) =>
  run(argv.split(' '), {
    clock,
    terminal: () => (columns === undefined ? null : { columns, rows: 24 }),
    openApp: async () => ({ ...beside.app, close: async () => undefined }),
  })

/** The publisher sends, and its node measures and writes. */
async function measure(): Promise<void> {
  for (const bytesIn of [1_000_000, 2_000_000]) {
    clock.advance(2000)
    countBytes(node.ctx, publisher.session.id, { bytesIn, bytesOut: 0 })
    node.ctx.streamMeter.sample()
  }
  await node.ctx.streamMeter.write(node.ctx.store)
}

describe('stream list', () => {
  it('has the streams of all nodes by name, as JSON like the HTTP API', async () => {
    await measure()
    const listed = JSON.parse((await cli('stream list --json')).stdout) as object[]
    expect(listed).toEqual((await beside.call('GET', '/api/streams/live')).json.data)
    expect(listed).toMatchObject([
      { streamName: 'show', viewers: 2, bitrateIn: expect.any(Number) },
      { streamName: '東京' },
    ])
    expect(JSON.parse((await cli('stream list --limit 1 --json')).stdout)).toHaveLength(1)
  })

  it('fits a terminal of 80 columns with rates for people, and has exact ones as comma-separated values', async () => {
    await measure()
    const { stdout } = await cli('stream list', 80)
    const [head, first] = stdout.split('\n')
    expect(head).toMatch(/^stream +health +over +viewers +in +out +size +since$/)
    expect(first).toMatch(/^show +steady +whip +2 +[\d.]+ Mbit\/s +0 bit\/s +0:00:04$/)
    const csv = (await cli('stream list --csv', 80)).stdout.split('\r\n')
    expect(csv[0]).toBe('stream,health,over,viewers,in,out,size,since')
    expect(csv[1]).toMatch(/^show,steady,whip,2,\d{6,},0,,20.*Z$/)
  })
})

describe('audience', () => {
  it('prints a report by its flags, as exact comma-separated values and as JSON like the HTTP API', async () => {
    const viewer = await view(node, { ip: '192.0.2.9' })
    countBytes(node.ctx, viewer.session.id, { bytesIn: 0, bytesOut: 5 })
    await node.node.count()
    clock.advance(6000)
    const [head, ...rows] = (await cli('audience --by protocol --by country --csv')).stdout.split('\r\n')
    expect(head).toBe('part,value,views,viewers,watched,most at once')
    expect(rows).toEqual(['total,,1,1,6,1', 'before,,0,0,0,0', 'protocol,whep,1,1,6,1', 'country,ZZ,1,1,6,1', ''])
    expect((await cli('audience', 80)).stdout).toMatch(/^streamName +show +1 +1 +6 s +1$/m)
    expect((await cli('audience --country AT')).stdout).toMatch(/^total +0 +0 +0 +0$/m)
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
    const [start, end] = [day(clock.now() - 86_400_000), day(clock.now() + 86_400_000)]
    const printed = await cli(`audience --json --start ${start} --end ${end} --resolution day --stream show`)
    const query = `startDate=${start}&stopDate=${end}&resolution=Day&streamName=show`
    const { data } = (await beside.call('GET', `/api/analytics/audience?${query}`)).json
    expect(JSON.parse(printed.stdout)).toEqual(data)
    expect(await cli('audience --by heat')).toMatchObject({ status: 1, stdout: '' })
  })

  it('prints how well it played as a table of 80 columns, and as comma-separated values', async () => {
    const viewer = await view(node, { ip: '192.0.2.9' })
    countBytes(node.ctx, viewer.session.id, { bytesIn: 0, bytesOut: 5 })
    clock.advance(60_000)
    const report = { n: 1, start: 800, played: 50_000, stalls: 2, stalled: 2500, frames: 1000, dropped: 5, switches: 0 }
    expect(takePlayerReport(node.ctx, viewer.session.id, JSON.stringify({ ...report, behind: 400 })).ok).toBe(true)
    await node.node.count()
    await node.ctx.playerReports.write(node.ctx.store)
    clock.advance(1000)
    const [head, total, before, stream] = (await cli('audience --quality --csv')).stdout.split('\r\n')
    expect(head).toBe('part,value,players,failed,start,stalls,stalled,behind,dropped')
    const [part, , players, failed, start, ...rest] = total?.split(',') ?? []
    expect([part, players, failed, ...rest]).toEqual(['total', '1', '0', '2', '2.5', '0.4', '0.5'])
    expect(Math.abs(Number(start) - 0.8)).toBeLessThan(0.8 * 0.025)
    expect([before, stream?.split(',')[1]]).toEqual([`before${','.repeat(8)}`, 'show'])
    const shown = (await cli('audience --quality', 80)).stdout.split('\n')
    expect(shown[0]).toMatch(/^part +value +players +failed +start +stalls +stalled +behind +dropped$/)
    expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(80)
  })
})

describe('stream health', () => {
  it('says what is wrong and what to set, then what was measured, as JSON like the HTTP API', async () => {
    const source = { longestKeyframeMs: 20_000, keyframeMs: 20_000, sampleRate: 8000, videoProfile: 'High' }
    for (let at = 0; at < 8; at += 1) {
      clock.advance(1000)
      countBytes(node.ctx, publisher.session.id, { bytesIn: at * 1000, bytesOut: 0, source })
      node.ctx.streamMeter.sample()
    }
    await node.ctx.streamMeter.write(node.ctx.store)
    const { status, stdout } = await cli('stream health show', 80)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^health +impaired$/m)
    expect(stdout).toMatch(/^profile +High$/m)
    expect(stdout).toMatch(/^longest keyframe interval +20 s$/m)
    expect(stdout).toMatch(/^sample rate +8 kHz$/m)
    expect(stdout).toMatch(/audio_rate: The sound has a sample rate of 8 kHz.*\n {2}Set 48 kHz/)
    expect(stdout).toContain('docs/guides/stream-health.md#audio-rate')
    const { data } = (await beside.call('GET', '/api/streams/show/health?history=false')).json
    expect(JSON.parse((await cli('stream health show --json')).stdout)).toEqual(data)
    expect(data.feeds[0].findings).toMatchObject([
      { code: 'audio_rate', value: 8000, threshold: 32_000, shown: '8 kHz' },
    ])
    const [headings = '', values = ''] = (await cli('stream health show --csv')).stdout.split('\n')
    const exact = new Map(headings.split(',').map((heading, at) => [heading, values.split(',')[at]]))
    expect(['findings', 'longest keyframe interval', 'sample rate'].map((name) => exact.get(name))).toEqual([
      'audio_rate',
      '20000',
      '8000',
    ])
    expect((await cli('stream health show')).stdout).toMatch(/^sample rate +8000$/m)
    expect((await cli('stream health nothing')).status).not.toBe(0)
  })
})

describe('stream show', () => {
  it('shows one stream, with what is known of it', async () => {
    await measure()
    const { status, stdout } = await cli('stream show show', 80)
    expect(status).toBe(0)
    for (const line of [/^viewers over hls +2$/m, /^token label +publish$/m, /^secured +no$/m, /^sources +1$/m])
      expect(stdout).toMatch(line)
    expect(stdout).not.toContain('lowest in')
    const { data } = (await beside.call('GET', '/api/streams/live?streamName=show')).json
    expect([JSON.parse((await cli('stream show show --json')).stdout)]).toEqual(data)
  })

  it('says that a stream is not on the air, and why a name is none', async () => {
    expect(await cli('stream show nothing')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'sluice: No stream of this name is on the air\n',
    })
    const { status, stderr } = await cli('stream show .. --json')
    expect(status).toBe(1)
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'validation',
      errors: { streamName: [expect.stringContaining('must not be . or ..')] },
    })
    expect(await cli('stream show')).toMatchObject({ status: 2, stderr: expect.stringContaining('NAME is required') })
  })
})
