import { Socket } from 'node:dgram'
import { RTCDtlsTransport } from 'werift'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../../src/base/clock.ts'
import { hasCode } from '../../../../src/base/errorCode.ts'
import { systemRandom } from '../../../../src/base/random.ts'
import { RtcClient, steadyNow } from '../../../../src/media/relay/client/rtcClient.ts'
import { strictLog } from '../../../support/log.ts'

const open = (Client = RtcClient): Promise<RtcClient> =>
  Client.open({
    clock: systemClock,
    now: steadyNow(systemClock),
    random: systemRandom,
    log: strictLog,
    localAddress: '127.0.0.1',
    allows: () => true,
    pace: () => undefined,
    failed: () => undefined,
  })

/** Sockets that are bound from now on. Those at this host are refused by the system. */
function refusedAt(host: string): Socket[] {
  const sockets: Socket[] = []
  const bind = Object.getOwnPropertyDescriptor(Socket.prototype, 'bind')?.value as (...args: unknown[]) => Socket
  const refusing = vi.spyOn(Socket.prototype, 'bind').mockImplementation(function (this: Socket, ...args: unknown[]) {
    sockets.push(this)
    if (args[1] !== host) return bind.apply(this, args)
    process.nextTick(() => this.emit('error', new Error('it is refused')))
    return this
  })
  onTestFinished(() => refusing.mockRestore())
  return sockets
}

function isOpen(socket: Socket): boolean {
  try {
    socket.address()
    return true
  } catch (error) {
    return !hasCode(error, 'ERR_SOCKET_DGRAM_NOT_RUNNING')
  }
}

test('a client without a port of IPv4 leaves no socket open', async () => {
  const sockets = refusedAt('0.0.0.0')
  await expect(open()).rejects.toThrow('it is refused')
  expect(sockets.filter(isOpen)).toEqual([])
})

test('a client on a machine without IPv6 has a port of IPv4, and leaves no other socket open', async () => {
  const sockets = refusedAt('::')
  const client = await open()
  expect(sockets.filter(isOpen)).toEqual([sockets[0]])
  client.close()
})

test('a certificate that could not be made once kept all sources over WHEP and targets over WHIP from being dialled', async () => {
  // The certificate is of a module, and other tests have made that of theirs.
  const path = '../../../../src/media/relay/client/rtcClient.ts?certificate'
  const { RtcClient: Client } = (await import(path)) as { RtcClient: typeof RtcClient }
  const made = vi.spyOn(RTCDtlsTransport, 'SetupCertificate').mockRejectedValueOnce(new Error('no more memory'))
  onTestFinished(() => made.mockRestore())
  await expect(open(Client)).rejects.toThrow('no more memory')
  const clients = [await open(Client), await open(Client)]
  expect(made).toHaveBeenCalledTimes(2)
  for (const client of clients) client.close()
})
