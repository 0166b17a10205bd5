// Reads manifests as YAML from standard input and validates each as the API server does: its decoder, its defaults, its
// rules. One line for each complaint, and exit status 1.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
)

func rules(object runtime.Object) (field.ErrorList, error) {
	if named, ok := object.(metav1.Object); ok && named.GetNamespace() == "" {
		named.SetNamespace("default")
	}
	switch found := object.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(found, corevalidation.PodValidationOptions{}), nil
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(found, corevalidation.PodValidationOptions{}), nil
	case *core.Service:
		if found.Spec.ClusterIP != "" { // as the server does before its rules
			found.Spec.ClusterIPs = []string{found.Spec.ClusterIP}
		}
		return corevalidation.ValidateServiceCreate(found), nil
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(found), nil
	case *core.Secret:
		return corevalidation.ValidateSecret(found), nil
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(found), nil
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(found, corevalidation.PersistentVolumeClaimSpecValidationOptions{}), nil
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(found, networkingvalidation.NetworkPolicyValidationOptions{}), nil
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(found, policyvalidation.PodDisruptionBudgetValidationOptions{}), nil
	case *monitoring.ServiceMonitor, *monitoring.PrometheusRule: // their rules are in the cluster; the decoder is strict
		return nil, nil
	}
	return nil, fmt.Errorf("no rules for %T", object)
}

func main() {
	if err := monitoring.AddToScheme(legacyscheme.Scheme); err != nil {
		panic(err)
	}
	versions := []schema.GroupVersion{monitoring.SchemeGroupVersion}
	for _, group := range []string{core.GroupName, apps.GroupName, networking.GroupName, policy.GroupName} {
		versions = append(versions, schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal})
	}
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	failed := false
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		object, kind, err := codecs.UniversalDecoder(versions...).Decode(document, nil, nil)
		var complaints field.ErrorList
		if err == nil {
			complaints, err = rules(object)
		}
		if err != nil {
			failed = true
			fmt.Println(kind, err)
			continue
		}
		name := object.(metav1.Object).GetName()
		for _, complaint := range complaints {
			failed = true
			fmt.Println(kind.Kind, name, complaint)
		}
		fmt.Println(kind.Kind, name, "checked")
	}
	if failed {
		os.Exit(1)
	}
}
