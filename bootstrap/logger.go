package bootstrap

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"voucherd/bootstrap/config"
)

// Bounds of what one message may fill the log with: an outage repeats the same few lines thousands of times.
const (
	sampleTick  = time.Second
	sampleFirst = 20
	sampleEvery = 500
)

// newLogger returns a logger that writes to w as the settings say.
func newLogger(s config.Log, w io.Writer) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(s.Level)
	if err != nil {
		return nil, err
	}
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey, enc.EncodeTime = "time", zapcore.RFC3339NanoTimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if s.Format == "console" {
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level)
	return zap.New(zapcore.NewSamplerWithOptions(core, sampleTick, sampleFirst, sampleEvery)), nil
}
