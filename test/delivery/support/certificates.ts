import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Identity {
  key: string
  cert: string
}

/** A certificate authority made for one test file, and leaves that it signs. Everything is in a temporary folder. */
export class Authority {
  readonly #dir = mkdtempSync(join(tmpdir(), 'sluice-ca-'))
  readonly caFile = join(this.#dir, 'ca.pem')

  constructor() {
    this.#selfSigned('ca', '/CN=Test Authority', [])
  }

  /** Valid from `fromDays` to `untilDays`, counted from now. */
  issue(host: string, fromDays = -1, untilDays = 30): Identity {
    const [key, request, cert] = [this.#path('leaf.key'), this.#path('leaf.csr'), this.#path('leaf.pem')]
    this.#openssl('req', '-new', ...EC_KEY, '-keyout', key, '-out', request, '-subj', `/CN=${host}`)
    writeFileSync(this.#path('index.txt'), '')
    writeFileSync(this.#path('ca.cnf'), `${CA_CONFIG}[leaf]\nsubjectAltName = DNS:${host}\n`)
    const dates = ['-startdate', asn1Date(fromDays), '-enddate', asn1Date(untilDays)]
    this.#openssl(
      'ca',
      '-batch',
      '-config',
      'ca.cnf',
      '-create_serial',
      '-in',
      request,
      '-out',
      cert,
      '-notext',
      ...dates,
    )
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  }

  selfSigned(host: string): Identity {
    this.#selfSigned('self', `/CN=${host}`, ['-addext', `subjectAltName=DNS:${host}`])
    return { key: readFileSync(this.#path('self.key'), 'utf8'), cert: readFileSync(this.#path('self.pem'), 'utf8') }
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true })
  }

  #selfSigned(name: string, subject: string, more: string[]): void {
    const files = ['-keyout', this.#path(`${name}.key`), '-out', this.#path(`${name}.pem`)]
    this.#openssl('req', '-x509', ...EC_KEY, '-days', '30', '-subj', subject, ...files, ...more)
  }

  #path(name: string): string {
    return join(this.#dir, name)
  }

  #openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.#dir, stdio: 'pipe' })
  }
}

const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

const CA_CONFIG = `[ca]
default_ca = it
[it]
database = index.txt
serial = serial
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = any
x509_extensions = leaf
unique_subject = no
[any]
commonName = supplied
`

function asn1Date(days: number): string {
  const iso = new Date(Date.now() + days * 86_400_000).toISOString()
  return `${iso.slice(0, 19).replace(/[-:T]/g, '')}Z`
}
