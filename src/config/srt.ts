import { choice, integer, text, toggle } from './keys.ts'
import { hostToListenOn } from './rules.ts'

/** The configuration keys of publishers over SRT. */
export const srt = {
  srt: {
    enabled: toggle({
      default: true,
      about: 'Lets publishers connect over SRT.',
    }),
    host: text({
      default: '0.0.0.0',
      allowed: 'an IPv4 or IPv6 address, or a host name',
      rule: hostToListenOn,
      about: 'The address that SRT listens on; `::` listens on IPv6 and, on most systems, IPv4 too.',
    }),
    port: integer({
      default: 10_000,
      min: 0,
      max: 65_535,
      about: 'The UDP port that SRT listens on; 0 takes any free one and logs it.',
    }),
    latencyMs: integer({
      live: true,
      default: 120,
      min: 20,
      max: 8000,
      about: 'How long Sluice waits for a lost packet, in milliseconds; a publisher may ask for more, up to 8000.',
    }),
    encryption: choice(['optional', 'required'], {
      live: true,
      default: 'optional',
      about: 'Whether publishers over SRT must encrypt: `required` refuses those that have no passphrase.',
    }),
    maxConnections: integer({
      live: true,
      default: 1000,
      min: 1,
      max: 100_000,
      about: 'The most publishers that may be connected over SRT.',
    }),
    maxFrameBytes: integer({
      live: true,
      default: 8_388_608,
      min: 65_536,
      max: 16_777_215,
      about: 'The largest video frame that SRT publishers may send, in bytes.',
    }),
    idleSeconds: integer({
      live: true,
      default: 10,
      min: 1,
      max: 300,
      about: 'How long a publisher may send neither video nor audio before Sluice disconnects it, in seconds.',
    }),
  },
} as const
