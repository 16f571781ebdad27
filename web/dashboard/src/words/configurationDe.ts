/** German: what each key of the configuration does. Backticks enclose code. */
export const configurationDe: Readonly<Record<string, string>> = {
  'server.host': 'Die Adresse des HTTP-Servers; `::` nimmt IPv6 und auf den meisten Systemen auch IPv4 an.',
  'server.port': 'Der TCP-Port des HTTP-Servers; 0 nimmt irgendeinen freien und schreibt ihn ins Log.',
  'server.publicUrl':
    'Wo Clients Sluice erreichen, mit dem Pfadpräfix eines Proxys, für angezeigte Adressen; leer: ' +
    '`server.nodeUrl`, sonst die Adresse der Anfrage.',
  'server.nodeUrl':
    'Die URL dieses Knotens für Clients in einem Cluster; andere Knoten leiten Zuschauer seiner Feeds hierher.',
  'server.region':
    'Wo dieser Knoten steht; Knoten mit demselben Namen sind nah beieinander, und leer ist auch eine Region.',
  'server.handover':
    'Was mit einem WHEP-Zuschauer eines Streams an einem anderen Knoten geschieht: `cascade` holt den Stream ' +
    'hierher, `redirect` schickt den Zuschauer dorthin.',
  'server.trustedProxies':
    'Die Proxys, deren `X-Forwarded-For` und `X-Forwarded-Prefix` Sluice glaubt; ohne sie zählt die Adresse des ' +
    'Sockets.',
  'server.bodyLimitBytes': 'Der größte Body einer Anfrage, in Bytes; ein größerer wird mit 413 abgewiesen.',
  'server.requestTimeoutSeconds': 'Wie lange ein Client höchstens für eine ganze Anfrage brauchen darf, in Sekunden.',
  'server.maxConnections':
    'Wie viele HTTP-Verbindungen höchstens offen sind; neue ersetzen unbenutzte. Eine niedrige Grenze offener ' +
    'Dateien senkt die Zahl.',
  'server.maxConnectionsPerAddress':
    'Wie viele HTTP-Verbindungen einer IPv4-Adresse oder eines IPv6-/64 höchstens offen sind, außer von ' +
    'vertrauten Proxys; 0: ohne Grenze.',
  'server.maxEgressMegabits':
    'Wie viel Medien ein Knoten höchstens sendet, in Megabit pro Sekunde; darüber bekommen neue Zuschauer 503. ' +
    '0: ohne Grenze.',
  'server.splice':
    'Liest Anfragen nach HLS-Medien und sendet Segmente ohne Kopie in einem Addon; wurde es nicht gebaut, tut es ' +
    'Node.',
  'server.demo': 'Zeigt die Demoseite unter `/demo`; sie selbst gewährt keinen Zugriff.',
  'server.dashboard': 'Zeigt das Dashboard unter `/dashboard`; ohne es kann sich niemand anmelden.',
  'server.drainSeconds':
    'Wie lange ein Knoten, der sich leert, seine Publisher und Zuschauer an andere abgibt, in Sekunden. Dann ' +
    'endet er.',
  'server.shutdownGraceSeconds':
    'Wie lange laufende Anfragen nach der Aufforderung zum Beenden noch dauern dürfen, in Sekunden.',
  'tls.certFile':
    'Das Zertifikat mit seiner Kette; damit spricht `server.port` HTTPS. Sluice liest es neu, wenn es sich ändert.',
  'tls.keyFile': 'Der private Schlüssel zu `tls.certFile`, ohne Passphrase.',
  'tls.selfSigned':
    'Für ein lokales Netz: erzeugt in `<data.dir>/tls` eine Zertifizierungsstelle und Zertifikate von ihr.',
  'tls.selfSignedNames':
    'Namen und Adressen für das selbst signierte Zertifikat, zusätzlich zu denen dieses Computers.',
  'tls.redirectPort': 'Ein TCP-Port, meist 80, der http:// nach https:// umleitet und http-01 beantwortet; 0: keiner.',
  'tls.hstsSeconds':
    'Wie lange Browser für diesen Host nur https:// benutzen dürfen (HSTS), in Sekunden; 0 sendet keinen solchen ' +
    'Header.',
  'tls.acme.domains': 'Die Domains eines Zertifikats, das Sluice über ACME holt und erneuert, etwa von Let’s Encrypt.',
  'tls.acme.email': 'Wohin die Zertifizierungsstelle schreiben darf.',
  'tls.acme.agreeToTerms': 'Stimmt den Bedingungen der Zertifizierungsstelle zu; ohne das fordert Sluice nichts an.',
  'tls.acme.directoryUrl': 'Das ACME-Verzeichnis; für Versuche das Staging-Verzeichnis der Zertifizierungsstelle.',
  'tls.acme.caFile':
    'Zertifizierungsstellen, denen Sluice für das ACME-Verzeichnis vertraut, zusätzlich zu den üblichen.',
  'storage.url':
    'Die Datenbank; leer heißt SQLite in `<data.dir>/sluice.db`. Von mehreren PostgreSQL-Hosts wird der benutzt, ' +
    'der Schreiben annimmt.',
  'storage.poolSize':
    'Wie viele Verbindungen der PostgreSQL-Pool eines Prozesses höchstens hat; ein Server öffnet zwei weitere ' +
    'daneben.',
  'storage.migrationCopies':
    'Wie viele Sicherungen einer SQLite-Datenbank von vor der Migration durch eine neue Version Sluice behält; ' +
    '0: keine.',
  'data.dir':
    'Das Verzeichnis für alle Dateien von Sluice, relativ zum Arbeitsverzeichnis; Sluice legt es an, wenn es fehlt.',
  'secrets.sealingKey':
    'Der Schlüssel, der Werte von Tokens versiegelt; leer heißt die Datei `<data.dir>/sealing.key`, die Sluice ' +
    'beim ersten Start anlegt.',
  'secrets.previousSealingKey':
    'Ein zweiter Schlüssel, der Werte öffnet und keine versiegelt, für einen Wechsel; nur zusammen mit ' +
    '`secrets.sealingKey`.',
  'geoip.database': 'Die Länderdatenbank für Länderregeln; ohne sie ist das Land jeder Adresse unbekannt.',
  'rtmp.enabled': 'Lässt Publisher über RTMP zu.',
  'rtmp.host': 'Die Adresse für RTMP; `::` nimmt IPv6 und auf den meisten Systemen auch IPv4 an.',
  'rtmp.port': 'Der TCP-Port für RTMP; 0 nimmt irgendeinen freien und schreibt ihn ins Log.',
  'rtmp.tlsPort': 'Der TCP-Port für RTMPS, meist 1936, mit dem Zertifikat aus `tls`; 0: keiner.',
  'rtmp.maxConnections':
    'Wie viele RTMP-Verbindungen höchstens offen sind; neue ersetzen solche, die noch nicht senden.',
  'rtmp.maxMessageBytes': 'Die größte RTMP-Nachricht, in Bytes; ein Videobild muss hineinpassen.',
  'rtmp.handshakeSeconds':
    'Wie viel Zeit zwischen der Verbindung eines Publishers und seinem Publish-Befehl höchstens vergeht, in ' +
    'Sekunden.',
  'rtmp.idleSeconds': 'Wie lange ein Publisher weder Bild noch Ton senden darf, bevor Sluice ihn trennt, in Sekunden.',
  'rtmp.transcodeBFrames':
    'Kodiert Video für WebRTC neu, solange diese Maschine Platz hat: mit B-Frames für alle, und andere Codecs als ' +
    'H.264 für Zuschauer, die sie nicht haben.',
  'rtmp.ipFilters':
    'Wie RTMP einen Token mit Adressregeln behandelt: `refuse` weist ihn ab, `enforce` prüft die Adresse des ' +
    'Publishers.',
  'srt.enabled': 'Lässt Publisher über SRT zu.',
  'srt.host': 'Die Adresse für SRT; `::` nimmt IPv6 und auf den meisten Systemen auch IPv4 an.',
  'srt.port': 'Der UDP-Port für SRT; 0 nimmt irgendeinen freien und schreibt ihn ins Log.',
  'srt.latencyMs':
    'Wie lange Sluice auf ein verlorenes Paket wartet, in Millisekunden; ein Publisher darf mehr verlangen, bis ' +
    '8000.',
  'srt.encryption': 'Ob Publisher über SRT verschlüsseln müssen: `required` weist die ohne Passphrase ab.',
  'srt.maxConnections': 'Wie viele Publisher höchstens über SRT verbunden sind.',
  'srt.maxFrameBytes': 'Das größte Videobild, das Publisher über SRT senden dürfen, in Bytes.',
  'srt.idleSeconds': 'Wie lange ein Publisher weder Bild noch Ton senden darf, bevor Sluice ihn trennt, in Sekunden.',
  'ffmpeg.path': 'Das Programm ffmpeg, das Medien verpackt, aufnimmt und umwandelt, ab Version 5.1.',
  'ffmpeg.maxProcesses':
    'Wie viele ffmpeg-Prozesse höchstens zugleich laufen; Anfragen, die einen weiteren brauchen, weist Sluice ab.',
  'ffmpeg.videoEncoder':
    'Was Kanäle und Renditionen von Feeds kodiert; alle außer `libx264` brauchen Hardware, und der Server ' +
    'startet nur, wenn sie geht.',
  'ffmpeg.device':
    'Das Gerät für `ffmpeg.videoEncoder`: ein Pfad für `h264_vaapi` und `h264_qsv`, eine Nummer für ' +
    '`h264_nvenc`; leer: ffmpeg wählt.',
  'hls.segmentSeconds': 'Wie lang ein Segment mindestens ist, in Sekunden; es endet mit dem nächsten Keyframe.',
  'hls.listSegments': 'Wie viele Segmente in einer Playlist stehen; Sluice hält alle im Arbeitsspeicher.',
  'hls.lowLatency': 'Fügt Playlists Teile von 0,35 bis 1 Sekunde hinzu, für Player mit Low-Latency-HLS.',
  'hls.maxStreams':
    'Wie viele Feeds höchstens zugleich für HLS verpackt werden; einer mit anderen Codecs als H.264 und AAC ' +
    'braucht ffmpeg.',
  'hls.idleSeconds': 'Wie lange Sluice einen Feed nach der letzten Anfrage noch verpackt, in Sekunden.',
  'hls.sessionSeconds':
    'Wie lange nach seiner letzten Anfrage ein HLS-Zuschauer als gegangen gilt, in Sekunden; mindestens drei ' +
    'Segmente.',
  'hls.refuseSharedTickets': 'Beendet eine HLS-Sitzung, deren Adresse mehr als ein Player benutzt.',
  'hls.reportingCaches':
    'Caches aus `server.trustedProxies`, die die Bytes ihrer Logs mit `sluice cache-log` melden; Sluice zählt ' +
    'diese und nicht, was es ihnen sendet.',
  'recordings.dir': 'Das Verzeichnis der Aufnahmen; leer heißt `<data.dir>/recordings`.',
  'recordings.minFreeMegabytes':
    'Wie viel Platz Aufnahmen auf dem Datenträger frei lassen, in Megabyte; bei weniger enden sie.',
  'thumbnails.everySeconds':
    'Der Abstand der Vorschaubilder eines Feeds, dessen Token `enableThumbnails` hat, in Sekunden.',
  'media.allowedNetworks':
    'Private Netze, in denen Publish-Tokens Ziele von `restream` haben dürfen und Pulls ihre Quellen; ' +
    'öffentliche sind immer erlaubt.',
  'webrtc.host':
    'Die Adresse, auf der Sluice Medien empfängt; leer heißt alle IPv4- und IPv6-Adressen dieses Computers.',
  'webrtc.port':
    'Der UDP- und TCP-Port des ersten Medienprozesses; die anderen nehmen die folgenden. 0: irgendwelche freien.',
  'webrtc.processes': 'Wie viele Medienprozesse laufen; 0 heißt einer weniger als Kerne, mindestens einer.',
  'webrtc.publicAddresses':
    'Die Adressen für Medien, die Sluice ankündigt, statt denen dieses Computers. Namen werden jede Minute neu ' +
    'aufgelöst.',
  'webrtc.maxBitrateKilobits': 'Die höchste Bitrate, die Sluice von einem Publisher verlangt, in Kilobit pro Sekunde.',
  'webrtc.publisherTimeoutSeconds':
    'Wie lange eine Sendung ohne Medien ihres Publishers weitergeht, in Sekunden, damit er nach einem ' +
    'Netzausfall zurückkehren kann.',
  'webrtc.iceServers':
    'Die STUN- und TURN-Server, die Sluice Publishern und Zuschauern nennt; nötig nur hinter strengen Firewalls.',
  'webrtc.pendingOffers':
    'Wie viele Angebote über WHIP und WHEP höchstens in Arbeit sind; weitere Clients bittet Sluice, es erneut zu ' +
    'versuchen.',
  'access.cacheTokens':
    'Wie viele Tokens jeder Prozess im Speicher hält, um ohne Anfrage an die Datenbank zu entscheiden.',
  'access.staleSeconds':
    'Wie lange jeder Prozess aus diesem Speicher entscheidet, wenn die Datenbank nicht erreichbar ist, in Sekunden.',
  'access.forwardStaleSeconds':
    'Wie lange ein Knoten gesicherte Streams anderer Knoten weitergibt, wenn die Datenbank nicht erreichbar ist, ' +
    'in Sekunden.',
  'access.log.refusalRate': 'Der Anteil der Abweisungen, die Sluice ins Zugriffslog schreibt.',
  'access.log.admissionRate':
    'Der Anteil der Zulassungen, die Sluice ins Zugriffslog schreibt; ein Konto kann im Betrieb alle seine schreiben lassen.',
  'access.log.retentionDays': 'Wie lange Zeilen des Zugriffslogs bleiben, in Tagen.',
  'access.log.rowsPerMinute':
    'Wie viele Zeilen pro Minute die Abweisungen eines Kontos höchstens bekommen, Wiederholungen ' +
    'zusammengefasst, und ebenso viele seine Zulassungen; weitere werden nur gezählt.',
  'access.log.totalRowsPerMinute':
    'Wie viele Zeilen pro Minute die Abweisungen aller Konten eines Prozesses höchstens bekommen, und ebenso viele die Zulassungen.',
  'access.log.minFreeMegabytes':
    'Wie viel Platz das Zugriffslog neben einer SQLite-Datenbank frei lässt, in Megabyte, höchstens aber ein ' +
    'Zwanzigstel des Datenträgers.',
  'access.log.bufferRows':
    'Wie viele Zeilen des Zugriffslogs höchstens im Speicher auf das Schreiben warten; weitere werden verworfen ' +
    'und gezählt.',
  'audit.retentionDays': 'Wie lange das Änderungsprotokoll bleibt, in Tagen.',
  'log.level': 'Die niedrigste Stufe von Meldungen, die Sluice ins Log schreibt.',
  'log.format':
    'Die Form einer Zeile des Logs: `json`, ein Objekt pro Zeile für Programme, oder `pretty`, Text für Menschen.',
  'metrics.secret':
    'Das Geheimnis, mit dem andere Computer `/metrics` lesen, als `Authorization: Bearer`; leer heißt, dass es keiner ' +
    'darf. Dieser Computer braucht keines.',
  'bindings.flushSeconds':
    'Wie oft Sluice die letzte Benutzung von Tokens und gebundenen Adressen speichert, in Sekunden.',
  'sessions.max': 'Wie viele Publisher und Zuschauer ein Prozess höchstens zugleich hat; weitere bekommen 503.',
  'sessions.publisherShare': 'Der Anteil von `sessions.max`, der Publishern vorbehalten ist.',
  'sessions.tokenShare':
    'Der Anteil aller Plätze für Zuschauer oder aller für Publisher, den ein Token benutzen darf, oder ein Konto ' +
    'für Zuschauer ohne Token.',
  'sessions.maxViewersPerAddress':
    'Wie viele Zuschauer eine IPv4-Adresse oder ein IPv6-/64 höchstens zugleich hat; weitere bekommen 429. 0: ' +
    'ohne Grenze.',
  'sessions.maxPublishersPerAddress':
    'Wie viele Publisher eine IPv4-Adresse oder ein IPv6-/64 höchstens zugleich hat; weitere bekommen 429. 0: ' +
    'ohne Grenze.',
  'sessions.maxConnectingPerAddress':
    'Wie viele Sitzungen über WHIP und WHEP ohne Medienverbindung, Anrufe über SRT ohne Entscheidung und ' +
    'RTMP-Verbindungen, die noch nichts senden, eine Adresse höchstens hat; 0: ohne Grenze.',
  'sessions.flushSeconds':
    'Wie oft Sluice Bytes von Sitzungen speichert, in Sekunden; ein beschäftigter Knoten verteilt es auf bis zu ' +
    'eine Minute. Ein Absturz verliert, was nicht gespeichert ist.',
  'sessions.leaseSeconds':
    'Wie lange andere Knoten annehmen, dass ein Prozess lebt, nachdem er seine Lease erneuert hat, in Sekunden.',
  'sessions.noViewersSeconds':
    'Die Zeit vom Gehen des letzten Zuschauers bis zum Ereignis `NoActiveViewers`, in Sekunden.',
  'sessions.retentionDays': 'Wie lange beendete Sitzungen und Feeds bleiben, in Tagen.',
  'analytics.retentionDays': 'Wie lange Summen der Nutzung bleiben, in Tagen.',
  'analytics.playerReports':
    'Ob Sluice annimmt, was Player über ihre Wiedergabe melden, auch als CMCD. Die Statistik zeigt es nach Stream.',
  'webhooks.allowPrivateTargets':
    'Erlaubt Webhooks private Adressen und einfaches http; nur für geschlossene Netze und Tests.',
  'webhooks.caFile': 'Zertifizierungsstellen, denen Sluice für Webhooks vertraut, zusätzlich zu den üblichen.',
  'webhooks.headerPrefix': 'Das Präfix der Header mit Signaturen und für Vorschaubilder in Callbacks.',
  'webhooks.deliveryRetentionDays': 'Wie lange das Log der Zustellungen bleibt, in Tagen.',
  'webhooks.inFlightPerWebhook': 'Wie viele Zustellungen an einen Webhook höchstens zugleich laufen.',
  'webhooks.inFlight': 'Wie viele Zustellungen an alle Webhooks höchstens zugleich laufen, je Prozess.',
  'channels.regions': 'Die Regionen, in denen Ingests und Engines laufen können; ein einzelner Server hat eine.',
  'channels.rtmpUrl':
    'Die RTMP-Adresse, die Kanäle Publishern zeigen, ohne Stream-Key; leer heißt `rtmp://localhost:PORT/live` ' +
    'mit `rtmp.port`.',
  'channels.viewerClaim':
    'Der Claim von Zuschauertokens mit ihren Einschränkungen, wie Ihr Signierer ihn nennt; der von gehosteten ' +
    'Diensten wird auch gelesen.',
  'channels.stepDownOnOverload':
    'Lässt eine überlastete Engine ihre größten Renditionen weg, bis sie wieder mitkommt; ihre Statusmeldung ' +
    'sagt es.',
  'channels.runRetentionDays': 'Wie lange beendete Läufe und ausgelassene Termine von Zeitplänen bleiben, in Tagen.',
  'provision.folder':
    'Der Ordner mit YAML-Dateien, die Tokens, Webhooks und Kanäle beschreiben; angewandt bei jedem Start und ' +
    'Neuladen; leer: keiner.',
  'management.failedAttemptsPerMinute':
    'Wie viele Anfragen mit falschem API-Secret oder Credential pro Minute und Adresse höchstens angenommen ' +
    'werden; weitere bekommen 429.',
  'management.requestsPerMinute':
    'Wie viele Anfragen an `/v2` pro Minute und Credential höchstens angenommen werden; weitere bekommen 429. 0: ' +
    'ohne Grenze.',
}
