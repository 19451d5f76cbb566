// Command collector is OpenTelemetry's collector with its OTLP receiver and its debug
// exporter; with the argument "parse" it reads metrics as Prometheus does.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "parse" {
		p := expfmt.NewTextParser(model.UTF8Validation)
		families, err := p.TextToMetricFamilies(os.Stdin)
		if err != nil {
			log.Fatal(err)
		}
		for name, f := range families {
			fmt.Println(name, f.GetType(), len(f.GetMetric()))
		}
		return
	}
	err := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: func() (otelcol.Factories, error) {
			r, e := otlpreceiver.NewFactory(), debugexporter.NewFactory()
			return otelcol.Factories{
				Receivers: map[component.Type]receiver.Factory{r.Type(): r}, Exporters: map[component.Type]exporter.Factory{e.Type(): e},
				Telemetry: otelconftelemetry.NewFactory(),
			}, nil
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()}}},
	}).Execute()
	if err != nil {
		log.Fatal(err)
	}
}
