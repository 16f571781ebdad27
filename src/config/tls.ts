import { integer, list, text, toggle } from './keys.ts'
import { domainName, emailOrNothing, hostToListenOn, httpsUrl } from './rules.ts'

/** The keys of TLS: a part of the one table in `schema.ts`. */
export const tls = {
  tls: {
    certFile: text({
      live: true,
      default: '',
      allowed: 'empty, or the path of a PEM file',
      about:
        'The certificate with its chain; with it `server.port` speaks HTTPS. Sluice reads it again when it changes.',
    }),
    keyFile: text({
      live: true,
      default: '',
      allowed: 'empty, or the path of a PEM file',
      about: 'The private key of `tls.certFile`, without a passphrase.',
    }),
    selfSigned: toggle({
      default: false,
      about: 'For a local network: makes a certificate authority in `<data.dir>/tls` and certificates that it signs.',
    }),
    selfSignedNames: list({
      live: true,
      default: [],
      allowed: 'host names and IPv4 or IPv6 addresses',
      rule: hostToListenOn,
      about: 'Names and addresses for the self-signed certificate, in addition to those of this machine.',
    }),
    redirectPort: integer({
      live: true,
      default: 0,
      min: 0,
      max: 65_535,
      about: 'A TCP port, usually 80, that sends http:// requests to https:// and answers http-01; 0 means none.',
    }),
    hstsSeconds: integer({
      live: true,
      default: 0,
      min: 0,
      max: 63_072_000,
      about: 'How long browsers may use only https:// for this host (HSTS), in seconds; 0 sends no such header.',
    }),
    acme: {
      domains: list({
        default: [],
        allowed: 'domain names without wildcards',
        rule: domainName,
        about: 'The domains of a certificate that Sluice gets and renews by ACME, such as from Let’s Encrypt.',
      }),
      email: text({
        default: '',
        allowed: 'empty, or an e-mail address',
        rule: emailOrNothing,
        about: 'Where the certificate authority may write to.',
      }),
      agreeToTerms: toggle({
        default: false,
        about: 'Agrees to the terms of service of the certificate authority; without it Sluice requests nothing.',
      }),
      directoryUrl: text({
        default: 'https://acme-v02.api.letsencrypt.org/directory',
        allowed: 'an https:// URL',
        rule: httpsUrl,
        about: 'The ACME directory; for trials, use the staging directory of the authority.',
      }),
      caFile: text({
        default: '',
        allowed: 'empty, or the path of a PEM file',
        about: 'Certificate authorities that Sluice trusts for the ACME directory, in addition to the usual ones.',
      }),
    },
  },
} as const
