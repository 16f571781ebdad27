import { afterAll, expect, test } from 'vitest'
import { endServers, newDirectory, serve, sluice } from './cliProcess.ts'

afterAll(endServers)

/** As where none was built. */
const env = { NODE_OPTIONS: '--import "data:text/javascript,process.dlopen=()=>{throw(new(Error))}"' }
const MISSING = /Native addons are missing.* a packet of WebRTC, and .* a segment of HLS\. .*npm run setup/

test.runIf(process.platform === 'linux')(
  'a server without addons says at the start what that costs, and so do the doctor and the list of what needs attention',
  async () => {
    const directory = newDirectory()
    const made = await sluice(['secret', 'create', '--name', 'test', '--data', directory], { env })
    const server = await serve(['--data', directory], env)
    expect(server.log()).toMatch(MISSING)
    const headers = { authorization: `Bearer ${made.stdout.trim()}` }
    const answer = await fetch(`${server.url}/api/attention`, { headers })
    const { data } = (await answer.json()) as { data: { kind: string; text: string }[] }
    expect(data.find(({ kind }) => kind === 'addons_missing')?.text).toMatch(MISSING)
    const doctor = await sluice(['doctor', '--data', directory, '--json'], { env })
    const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; outcome: string; detail: string }[] }
    expect(checks.filter(({ detail }) => MISSING.test(detail))).toMatchObject([{ check: 'addons', outcome: 'warn' }])
  },
)
