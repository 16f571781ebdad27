import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PemPair } from '../../src/tls/certificate.ts'
import { leafOf, writePair } from './certificates.ts'
import { until } from './until.ts'
import { ownPort } from './ownPort.ts'

/** Debian has it as a package. */
export const hasPebble = (): boolean =>
  ['pebble', 'pebble-challtestsrv'].every((name) => spawnSync(name, ['-h'], { stdio: 'ignore' }).error === undefined)

export interface Pebble {
  readonly directoryUrl: string
  /** The PEM file of the authority of its own HTTPS. */
  readonly caFile: string
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * The certificate authority of Let's Encrypt for tests, and a DNS server for which every name is this machine.
 * @param httpPort where it looks for answers to challenges, instead of at port 80
 */
export async function openPebble(dir: string, authority: PemPair, httpPort: number): Promise<Pebble> {
  const { certFile, keyFile } = writePair(dir, await leafOf(authority))
  const caFile = join(dir, 'ca.pem')
  writeFileSync(caFile, authority.cert)
  const [api, management, dns, control] = [await ownPort(), await ownPort(), await ownPort(), await ownPort()]
  const config = join(dir, 'pebble.json')
  const pebble = {
    listenAddress: `127.0.0.1:${api}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: certFile,
    privateKey: keyFile,
    httpPort,
    tlsPort: 5001,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  }
  writeFileSync(config, JSON.stringify({ pebble }))
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', '']
  const dnsServer = ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${control}`, '-defaultIPv4', '127.0.0.1']
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1' }
  const directoryUrl = `https://127.0.0.1:${api}/dir`
  let running: ChildProcess[] = []
  return {
    directoryUrl,
    caFile,
    async start() {
      const arguments_ = ['-config', config, '-dnsserver', `127.0.0.1:${dns}`]
      running = [
        spawn('pebble-challtestsrv', [...dnsServer, ...off], { stdio: 'ignore' }),
        spawn('pebble', arguments_, { env, stdio: 'ignore' }),
      ]
      await until(() =>
        fetch(directoryUrl).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
    },
    async stop() {
      for (const child of running.splice(0)) {
        child.kill()
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      }
    },
  }
}
