// The health check of the container: ends with 0 if the server here is ready, over HTTP or HTTPS. The certificate names
// another host, so it is not checked.
import http from 'node:http'
import https from 'node:https'

const { SLUICE_SERVER_HOST: listens, SLUICE_SERVER_PORT } = process.env
const port = Number(SLUICE_SERVER_PORT) || 8080
const host = !listens || ['0.0.0.0', '::'].includes(listens) ? '127.0.0.1' : listens

const isReady = (protocol) =>
  new Promise((resolve) => {
    const options = { host, port, path: '/readyz', rejectUnauthorized: false, timeout: 2000 }
    const request = protocol.get(options, ({ statusCode }) => {
      resolve(statusCode === 200)
      request.destroy()
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })

process.exitCode = (await isReady(http)) || (await isReady(https)) ? 0 : 1
