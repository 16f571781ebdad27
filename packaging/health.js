// The health check of the container: ends with 0 if the server here is ready, over HTTP or HTTPS. The certificate names
// another host than 127.0.0.1, so it is not checked.
import http from 'node:http'
import https from 'node:https'

const port = process.env.SLUICE_SERVER_PORT || 8080

const isReady = (protocol, scheme) =>
  new Promise((resolve) => {
    const options = { rejectUnauthorized: false, timeout: 2000 }
    const request = protocol.get(`${scheme}://127.0.0.1:${port}/readyz`, options, ({ statusCode }) => {
      resolve(statusCode === 200)
      request.destroy()
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })

process.exitCode = (await isReady(http, 'http')) || (await isReady(https, 'https')) ? 0 : 1
