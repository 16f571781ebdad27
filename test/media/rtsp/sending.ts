import { once } from 'node:events'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { Hub } from '../../../src/media/hub.ts'
import type { SenderEnd } from '../../../src/media/publishing.ts'
import { RtspSender } from '../../../src/media/rtsp/sender.ts'
import { strictLog } from '../../support/log.ts'

/** Sends a hub to a port. */
export async function send(port: number, { login = '', clock = systemClock, path = '/live/show' } = {}) {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const [hub, ends] = [new Hub(), [] as SenderEnd[]]
  const told = { isAccepted: false }
  const sender: RtspSender = new RtspSender({
    socket,
    clock,
    log: strictLog,
    random: systemRandom,
    url: new URL(`rtsp://${login}127.0.0.1:${port}${path}`),
    ready: () => void hub.subscribe(sender),
    accepted: () => (told.isAccepted = true),
    ended: (how) => ends.push(how),
  })
  return { sender, hub, ends, told, socket }
}
